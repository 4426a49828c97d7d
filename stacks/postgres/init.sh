#!/bin/sh
# Run once, by the image's entry point, when the database is created. Creates a user for Tidegauge that owns its
# database and nothing else. Its password is in the URL that ingest and the API get.
set -eu

psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --username="${POSTGRES_USER:-postgres}" --dbname=postgres <<'SQL'
\set password `sed 's,^postgres://tidegauge:,,;s,@.*,,' /run/secrets/store_url`
CREATE ROLE tidegauge LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'password';
CREATE DATABASE tidegauge OWNER tidegauge;
REVOKE ALL ON DATABASE postgres, template1, tidegauge FROM PUBLIC;
SQL
