#!/bin/bash
# "name<mark>amount" becomes "initial amount"; amounts below LEAST are left out.
set -euo pipefail
awk -F"[$MARK]" -v least="$LEAST" 'NF != 2 { exit 3 } $2 + 0 >= least { print $1 " " $2 }' | sed -E 's/^(.)[^ ]*/\1/'
