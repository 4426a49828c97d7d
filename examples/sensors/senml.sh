#!/bin/sh
# Publishes a SenML pack in JSON (RFC 8428). "bn" and "bt" are the base name and the base time of all records.
#   BROKER=192.0.2.11 ./senml.sh
set -eu
# shellcheck source=/dev/null
. "$(dirname "$0")/connection.sh"

publish "$TOPICS/meter" '[
  {"bn": "boiler/", "bt": '"$(date +%s)"', "n": "temperature", "u": "Cel", "v": 64.2},
  {"n": "flow", "u": "l/s", "v": 0.8},
  {"n": "open", "vb": true}
]'
