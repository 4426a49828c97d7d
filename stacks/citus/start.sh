#!/bin/sh
# Nodes log in to each other as the administrator and as Tidegauge's user, with the same passwords as on this node.
# Citus offers three ways: no password at all (trust), which admits anyone who can reach the network; certificates,
# which expire, on boards that nobody checks for years; and this file, which libpq reads (its manual, section "The
# Password File"). The file is in memory only.
set -eu

umask 077
{
  printf '*:*:*:postgres:%s\n' "$(cat /run/secrets/citus_password)"
  printf '*:*:*:tidegauge:%s\n' "$(sed 's,^citus://tidegauge:,,;s,@.*,,' /run/secrets/store_url)"
} >/tmp/pgpass
export PGPASSFILE=/tmp/pgpass
exec docker-entrypoint.sh "$@"
