#!/bin/sh
# Run once, by the image's entry point, when the database is created and its server listens on its socket only. Creates
# a user for Tidegauge that owns its database and nothing else. Its password is in the URL that ingest and the API get.
set -eu

password=$(sed 's,^mariadb://tidegauge:,,;s,@.*,,' /run/secrets/store_url)
# Through the environment and standard input, because every process of the board can see arguments.
MYSQL_PWD=$(cat /run/secrets/mariadb_password)
export MYSQL_PWD
mariadb --user=root --protocol=socket <<SQL
CREATE DATABASE tidegauge CHARACTER SET utf8mb4;
CREATE USER tidegauge@'%' IDENTIFIED BY '$password';
GRANT ALL ON tidegauge.* TO tidegauge@'%';
SQL
