-- A user for Grafana's "Tidegauge / Latest", who reads what Tidegauge stores and changes nothing: whoever may look at
-- a dashboard may send any SQL as that user. Once, as the administrator, in Tidegauge's database; psql asks for the
-- password, so that it stands in no history:
--   psql -U postgres -d tidegauge -f reader.sql
-- In a swarm: stacks/monitoring/latest.yml.
\if :{?password}
\else
\prompt 'Password for tidegauge_reader: ' password
\endif
CREATE ROLE tidegauge_reader LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE CONNECTION LIMIT 5 PASSWORD :'password';
ALTER ROLE tidegauge_reader SET default_transaction_read_only = on;
ALTER ROLE tidegauge_reader SET statement_timeout = '10s';
SELECT format('GRANT CONNECT ON DATABASE %I TO tidegauge_reader', current_database()) \gexec
GRANT SELECT ON series, devices, readings TO tidegauge_reader;
