#!/bin/sh
# Creates the databases of Temporal in PostgreSQL with their tables, or brings the tables up to date. It may
# be repeated. The connection is set by SQL_HOST, SQL_PORT, SQL_USER and SQL_PLUGIN; the password is a file.
set -eu
SQL_PASSWORD="$(cat "${PASSWORD_FILE:-/run/secrets/postgres-password}")"
export SQL_PASSWORD
schema="${SCHEMA:-/etc/temporal/schema/postgresql/v12}"

prepare() { # database, directory of its versions
  temporal-sql-tool --db "$1" create
  temporal-sql-tool --db "$1" setup-schema -v 0.0 || true # fails if it is there
  temporal-sql-tool --db "$1" update-schema -d "$schema/$2/versioned"
}

prepare temporal temporal
prepare temporal_visibility visibility
