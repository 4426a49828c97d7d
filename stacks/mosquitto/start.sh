#!/bin/sh
# Runs mosquitto with the users of the stack (a secret) and of the sensors (a file on the board, kept by
# stacks/bin/sensor), and has it read them again when a sensor's changes. `start.sh health` is the health check.
set -eu
umask 077

RUN=/run/mosquitto
SENSORS=/mosquitto/data/sensors

if [ "${1:-}" = health ]; then
  # Options from a file: every process of the board can see arguments, and a password among them.
  XDG_CONFIG_HOME=$RUN exec mosquitto_sub -t '$SYS/broker/uptime' -C 1 -W 8
fi

# mosquitto reads one file.
gather() {
  if [ -e "$SENSORS" ]; then cp "$SENSORS" "$RUN/sensors"; else : >"$RUN/sensors"; fi
  cat "$RUN/services" "$RUN/sensors" >"$RUN/passwords.new"
  mv "$RUN/passwords.new" "$RUN/passwords"
}

changed() {
  [ -e "$SENSORS" ] && ! cmp -s "$SENSORS" "$RUN/sensors"
}

health=$(tr -dc a-z0-9 </dev/urandom | head -c 32)
{ cat /run/secrets/mosquitto_passwords; echo "health:$health"; } >"$RUN/services"
mosquitto_passwd -U "$RUN/services"
printf '%s\n' '-h localhost' '-p 8883' '--cafile /run/secrets/ca' '-u health' "-P $health" >"$RUN/mosquitto_sub"
{
  cat /mosquitto/config/mosquitto.conf
  echo "max_queued_messages $MAX_QUEUED_MESSAGES"
  echo "max_queued_bytes $MAX_QUEUED_BYTES"
} >"$RUN/mosquitto.conf"
gather

mosquitto -c "$RUN/mosquitto.conf" &
broker=$!
trap 'kill -TERM "$broker" 2>/dev/null || true' TERM INT
while kill -0 "$broker" 2>/dev/null; do
  sleep 2 &
  # A signal ends the wait.
  wait $! || break
  if changed; then
    gather
    kill -HUP "$broker"
  fi
done
wait "$broker"
