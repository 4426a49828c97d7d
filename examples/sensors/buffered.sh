#!/bin/sh
# A sensor that runs: it publishes the temperature of this machine every PERIOD seconds. Readings wait in a file while the
# broker is unavailable, KEEP of them at most; then the oldest are dropped. At least as many that were sent are in QUEUE.sent, to
# send again what did not arrive.
#   BROKER=192.0.2.11 ./buffered.sh
#   THERMOMETER  a file with thousandths of a degree. Default: the processor's
#   QUEUE        the file for readings that wait. Default: queue.ndjson
set -eu
# shellcheck source=/dev/null
. "$(dirname "$0")/connection.sh"

queue=${QUEUE:-queue.ndjson}
device=${TOPICS#sensors/}/board
# A new boot at every start, and a number for each reading. The ledger then lists each missing reading.
boot=$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')
seq=0
# After a restart the newest reading is sent again, so that a loss before it is seen.
if [ -e "$queue.sent" ]; then tail -n 1 "$queue.sent" >>"$queue"; fi

# Reads requests for missing readings, such as {"device":"site-1/board","boot":"1f2e3d4c","ranges":[[7,9],[12,12]]}. Queues those
# that were sent, and prints which is the first one of them if older ones are requested.
send_again() {
  awk -v sent="$queue.sent" -v queue="$queue" '
    function value(line, name) {
      sub(".*\"" name "\":\"?", "", line)
      sub(/[",}].*/, "", line)
      return line
    }
    /"ranges":\[\[/ {
      boot = value($0, "boot")
      sub(/.*"ranges":\[+/, "")
      count = split($0, ends, /[^0-9]+/)
      kept = "null"
      while ((getline line <sent) > 0) {
        if (value(line, "boot") != boot) continue
        seq = value(line, "seq")
        if (kept == "null") kept = seq
        for (i = 1; i < count; i += 2) if (seq + 0 >= ends[i] + 0 && seq + 0 <= ends[i + 1] + 0) print line >>queue
      }
      close(sent)
      if (kept == "null" || ends[1] + 0 < kept + 0) printf "{\"boot\":\"%s\",\"kept\":%s}\n", boot, kept
    }'
}

while :; do
  value=$(awk '{ printf "%.3f", $1 / 1000 }' "${THERMOMETER:-/sys/class/thermal/thermal_zone0/temp}")
  printf '{"t":%s,"v":%s,"boot":"%s","seq":%d}\n' "$(date +%s.%N)" "$value" "$boot" "$seq" >>"$queue"
  seq=$((seq + 1))
  tail -n "${KEEP:-10000}" "$queue" >"$queue.new" && mv "$queue.new" "$queue"
  # A message that is published twice is stored once, because t is the same.
  head -n 500 "$queue" >"$queue.new"
  if publish_lines "$TOPICS/board/temperature" <"$queue.new"; then
    sed -i 1,500d "$queue"
    cat "$queue.new" >>"$queue.sent"
    # Not each time, because that would wear out an SD card.
    if [ "$(wc -l <"$queue.sent")" -gt $((2 * ${KEEP:-10000})) ]; then
      tail -n "${KEEP:-10000}" "$queue.sent" >"$queue.new" && mv "$queue.new" "$queue.sent"
    fi
  fi
  # It listens while it waits. A request that comes at another time comes again.
  receive "tidegauge/resend/$device" "${PERIOD:-10}" >"$queue.new" || sleep "${PERIOD:-10}"
  send_again <"$queue.new" >"$queue.kept"
  if [ -s "$queue.kept" ]; then publish_lines "sensors/$device/kept" <"$queue.kept" || true; fi
done
