#!/bin/bash
# The last step of the image: the healthy machine was up once, then it is broken, and what its files are is recorded.
set -e
here=$(dirname "$(readlink -f "$0")")
services=/usr/local/sbin/services
"$services" start
"$services" stop
for script in "$here"/break-*.sh; do
    [ -e "$script" ] || continue
    bash -c "set -e
umask 022
$(cat "$script")"
done
mkdir -p -m 700 /var/lib/begun
python3 -I -B "$here/own.py" "$here/round.json" >/var/lib/begun/record.json
