#!/bin/sh
# Publishes the readings of several devices behind one gateway in one message. Each reading names its device and metric.
# The devices are stored below the gateway: site-1/gateway/pump.
#   BROKER=192.0.2.11 ./gateway.sh
set -eu
# shellcheck source=/dev/null
. "$(dirname "$0")/connection.sh"

now=$(date +%s)
publish "$TOPICS/gateway" '{"readings": [
  {"device": "pump", "metric": "rpm", "t": '"$now"', "v": 900},
  {"device": "pump", "metric": "running", "t": '"$now"', "v": true},
  {"device": "tank", "metric": "level", "t": '"$now"', "v": 0.73}
]}'
