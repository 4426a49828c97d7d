#!/bin/sh
# Creates the database on the first start, then becomes the server. It uses POSTGRES_USER, POSTGRES_PASSWORD,
# POSTGRES_DB (each also as …_FILE), POSTGRES_INITDB_ARGS and /docker-entrypoint-initdb.d as the official image does.
set -eu

from_file() {
  file=
  eval "file=\${$1_FILE:-}"
  test -z "$file" || eval "$1=\$(cat \"\$file\")"
}

run_scripts() {
  for script in /docker-entrypoint-initdb.d/*; do
    # shellcheck disable=SC1090 # the stack's own
    case $script in
      *.sh) if test -x "$script"; then "$script"; else . "$script"; fi ;;
      *.sql) query --file="$script" ;;
      *.sql.gz) gunzip --stdout "$script" | query ;;
    esac
  done
}

query() {
  psql --set=ON_ERROR_STOP=1 --no-psqlrc --username="$POSTGRES_USER" --no-password --dbname="$POSTGRES_DB" "$@"
}

make_database() {
  if test -z "${POSTGRES_PASSWORD:-}"; then
    echo 'The database has no password yet: set POSTGRES_PASSWORD or POSTGRES_PASSWORD_FILE.' >&2
    exit 1
  fi
  # Splits the arguments as a shell does.
  eval "set -- ${POSTGRES_INITDB_ARGS:-}"
  echo "$POSTGRES_PASSWORD" | initdb --username="$POSTGRES_USER" --pwfile=/dev/stdin "$@"
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  # No client can connect before the database is complete.
  pg_ctl --wait --options="-c listen_addresses=''" start
  if test "$POSTGRES_DB" != postgres; then
    name=$POSTGRES_DB
    POSTGRES_DB=postgres query --set=name="$name" <<'SQL'
create database :"name";
SQL
  fi
  run_scripts
  pg_ctl --wait --mode=fast stop
}

case ${1:-} in -*) set -- postgres "$@" ;; esac
if test "${1:-}" = postgres; then
  if test "$(id -u)" = 0; then
    mkdir -p "$PGDATA"
    chown -R postgres "$PGDATA" /var/run/postgresql
    chmod 700 "$PGDATA"
    exec setpriv --reuid=postgres --regid=postgres --clear-groups "$0" "$@"
  fi
  from_file POSTGRES_USER
  from_file POSTGRES_PASSWORD
  from_file POSTGRES_DB
  : "${POSTGRES_USER:=postgres}"
  : "${POSTGRES_DB:=$POSTGRES_USER}"
  export POSTGRES_USER POSTGRES_DB
  export PGHOST=/var/run/postgresql
  test -s "$PGDATA/PG_VERSION" || make_database "$@"
  unset PGHOST POSTGRES_PASSWORD
fi
exec "$@"
