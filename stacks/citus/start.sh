#!/bin/sh
# A node logs in at the others as the administrator and as Tidegauge's user, with the passwords that they log in here
# with. Citus offers three ways: no password at all (trust), which lets in whoever reaches the network; certificates,
# which end one day, on boards that nobody has looked at for years; and this file, which libpq reads (its manual,
# section "The Password File"). It is in memory only.
set -eu

umask 077
{
  printf '*:*:*:postgres:%s\n' "$(cat /run/secrets/citus_password)"
  printf '*:*:*:tidegauge:%s\n' "$(sed 's,^citus://tidegauge:,,;s,@.*,,' /run/secrets/store_url)"
} >/tmp/pgpass
export PGPASSFILE=/tmp/pgpass
exec docker-entrypoint.sh "$@"
