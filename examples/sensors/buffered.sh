#!/bin/sh
# A sensor that runs: it publishes the temperature of this machine every PERIOD seconds. Readings wait in a file while the
# broker is unavailable, KEEP of them at most; then the oldest are dropped.
#   BROKER=192.0.2.11 ./buffered.sh
#   THERMOMETER  a file with thousandths of a degree. Default: the processor's
#   QUEUE        the file for readings that wait. Default: queue.ndjson
set -eu
# shellcheck source=/dev/null
. "$(dirname "$0")/connection.sh"

queue=${QUEUE:-queue.ndjson}
# A new boot at every start, and a number for each reading. The ledger then lists each missing reading.
boot=$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')
seq=0

while :; do
  value=$(awk '{ printf "%.3f", $1 / 1000 }' "${THERMOMETER:-/sys/class/thermal/thermal_zone0/temp}")
  printf '{"t":%s,"v":%s,"boot":"%s","seq":%d}\n' "$(date +%s.%N)" "$value" "$boot" "$seq" >>"$queue"
  seq=$((seq + 1))
  tail -n "${KEEP:-10000}" "$queue" >"$queue.new" && mv "$queue.new" "$queue"
  # A message that is published twice is stored once, because t is the same.
  if head -n 500 "$queue" | publish_lines "$TOPICS/board/temperature"; then sed -i 1,500d "$queue"; fi
  sleep "${PERIOD:-10}"
done
