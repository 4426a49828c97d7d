#!/bin/sh
# Creates the database on the first start, then becomes the server. It uses MARIADB_ROOT_PASSWORD_FILE,
# MARIADB_ROOT_HOST=localhost and the scripts of /docker-entrypoint-initdb.d as the official image does.
set -eu

DATA=/var/lib/mysql
SOCKET=/run/mysqld/mysqld.sock

as_root() {
  mariadb --no-defaults --user=root --protocol=socket --socket="$SOCKET" "$@"
}

make_database() {
  root=$(cat "${MARIADB_ROOT_PASSWORD_FILE:?names the file with the password of root}")
  test "${MARIADB_ROOT_HOST:-%}" = localhost || {
    echo 'This stand-in makes root at localhost only: set MARIADB_ROOT_HOST=localhost.' >&2
    exit 1
  }
  mariadb-install-db --no-defaults --datadir="$DATA" --auth-root-authentication-method=normal \
    --skip-test-db --skip-name-resolve >/dev/null
  # No client can connect before the database is complete.
  "$@" --skip-networking --socket="$SOCKET" &
  server=$!
  until as_root --execute='select 1' >/dev/null 2>&1; do
    kill -0 "$server" || exit 1
    sleep 0.2
  done
  echo "alter user root@localhost identified by '$root'; delete from mysql.global_priv where User = ''; flush privileges;" \
    | as_root
  for script in /docker-entrypoint-initdb.d/*.sh; do
    if test -x "$script"; then "$script"; fi
  done
  MYSQL_PWD=$root mariadb-admin --no-defaults --user=root --protocol=socket --socket="$SOCKET" shutdown
  wait "$server"
}

case ${1:-} in -*) set -- mariadbd "$@" ;; esac
if test "${1:-}" = mariadbd; then
  test -d "$DATA/mysql" || make_database "$@"
fi
exec "$@"
