#!/bin/sh
set -eu
test "$("$1" 1)" = "*"
