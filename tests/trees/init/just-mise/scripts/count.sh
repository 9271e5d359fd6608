#!/bin/sh
set -eu
wc -l < "${1:-birds.txt}"
