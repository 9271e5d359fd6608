#!/bin/sh
set -eu
pg_dump "$DATABASE_URL" | gzip >"backup-$(date +%F).sql.gz"
