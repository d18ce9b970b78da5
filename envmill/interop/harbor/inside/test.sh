#!/bin/bash
# A reward is written by this script alone, and only after a whole report: 1 for a pass, 0 for a fail. No report is no reward, which is an error.
logs=/logs/verifier
mkdir -p "$logs"
rm -rf "$logs/reward.txt" "$logs/reward.json" "$logs/report.json"
/usr/bin/python3 -I -S -B "$(dirname "$(readlink -f "$0")")/judge.py"
code=$?
rm -rf "$logs/reward.txt" "$logs/reward.json"
if [ "$code" = 0 ] && [ -s "$logs/report.json" ]; then
    echo 1 >"$logs/reward.txt"
elif [ "$code" = 1 ] && [ -s "$logs/report.json" ]; then
    echo 0 >"$logs/reward.txt"
else
    echo "The judge ended with $code and gave no verdict: no reward is written." >&2
    exit 1
fi
