#!/bin/sh
# Publishes one plain number. The topic has the device and the metric. Ingest uses the time at which it arrives.
#   BROKER=192.0.2.11 ./plain.sh
set -eu
# shellcheck source=/dev/null
. "$(dirname "$0")/connection.sh"

publish "$TOPICS/greenhouse/temperature" 21.5
