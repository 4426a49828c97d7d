#!/bin/sh
# Sends readings over HTTP. The API answers when they are stored, with the number of stored readings.
#   API=https://192.0.2.11:8080 CA_FILE=ca.pem API_TOKEN=... ./http.sh
set -eu

set -- --silent --show-error --fail-with-body
if [ -n "${CA_FILE:-}" ]; then set -- "$@" --cacert "$CA_FILE"; fi
if [ -n "${API_TOKEN:-}" ]; then set -- "$@" --header "Authorization: Bearer $API_TOKEN"; fi

curl "$@" --header 'Content-Type: application/json' \
  --data '{"t": "'"$(date -u +%Y-%m-%dT%H:%M:%SZ)"'", "v": 7.4}' \
  "${API:-http://127.0.0.1:8080}/v1/readings?device=site-1/pond&metric=ph"
echo
