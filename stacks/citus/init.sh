#!/bin/sh
# Run once, by the image's entry point, when a node's database is created, on the coordinator and on workers. Citus
# copies the user's name and password to workers, but not the right to create tables there.
set -eu

psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --username=postgres --dbname=tidegauge <<'SQL'
CREATE EXTENSION IF NOT EXISTS citus;
\set password `sed 's,^citus://tidegauge:,,;s,@.*,,' /run/secrets/store_url`
CREATE ROLE tidegauge LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'password';
ALTER DATABASE tidegauge OWNER TO tidegauge;
REVOKE ALL ON DATABASE postgres, template1, tidegauge FROM PUBLIC;
SQL

# Before any client can connect. Otherwise tables that are created before the first worker joins are stored on the
# coordinator itself.
if [ "${CITUS_ROLE:-}" = coordinator ]; then
  psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --username=postgres --dbname=tidegauge \
    --command="SELECT citus_set_coordinator_host('citus-coordinator', 5432)" >/dev/null
fi
