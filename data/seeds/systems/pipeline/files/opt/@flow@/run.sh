#!/bin/bash
# All tables of a delivery, cleaned and summed up.
set -euo pipefail
set -a; . /etc/@flow@.env; set +a
steps='clean total'
mkdir "$WORK/lock" || { echo "@flow@ is running" >&2; exit 1; }
trap 'rm -rf "$WORK/lock" "$WORK/table"' EXIT
cat "$INPUT"/*.csv >"$WORK/table"
for step in $steps; do
    "/opt/@flow@/$step.sh" <"$WORK/table" >"$WORK/table.new"
    mv "$WORK/table.new" "$WORK/table"
done
iconv -f UTF-8 -t UTF-8 "$WORK/table" >"$OUTPUT/summary.txt"
