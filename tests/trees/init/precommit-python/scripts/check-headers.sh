#!/bin/sh
# Fails when one of the files has no header.
status=0
for file in "$@"; do
  head -n 1 "$file" | grep -q '^# tidebook:' || { echo "$file: no header"; status=1; }
done
exit "$status"
