#!/bin/sh
# Run once, by the image's entry point, when the database is made: a user for Tidegauge that owns its database and
# nothing else. Its password is the one in the URL that ingest and the API get. The entry point sources this file
# with MARIADB_ROOT_PASSWORD set, and its server listens on its socket only.
set -eu

password=$(sed 's,^mariadb://tidegauge:,,;s,@.*,,' /run/secrets/store_url)
# By standard input and the environment: arguments can be seen.
MYSQL_PWD=$MARIADB_ROOT_PASSWORD mariadb --user=root --protocol=socket --binary-mode <<SQL
CREATE DATABASE tidegauge CHARACTER SET utf8mb4;
CREATE USER tidegauge@'%' IDENTIFIED BY '$password';
GRANT ALL ON tidegauge.* TO tidegauge@'%';
SQL
unset password
