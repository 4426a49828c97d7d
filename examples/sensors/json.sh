#!/bin/sh
# Publishes a JSON object with several metrics and the time of the measurement. The topic is that of the device.
#   BROKER=192.0.2.11 ./json.sh
set -eu
# shellcheck source=/dev/null
. "$(dirname "$0")/connection.sh"

publish "$TOPICS/greenhouse" '{"time": "'"$(date -u +%Y-%m-%dT%H:%M:%SZ)"'", "temperature": 21.5, "humidity": 48, "door": "closed"}'
