#!/bin/sh
printf '#define VERSION "%s"\n' "$(cat "$1")"
