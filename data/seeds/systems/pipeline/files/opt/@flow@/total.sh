#!/bin/bash
# Sorted, with the total below.
set -euo pipefail
sort | awk 'NF != 2 { exit 4 } { print; sum += $2 } END { print "total", sum }'
