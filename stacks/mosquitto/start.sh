#!/bin/sh
# Runs mosquitto with the users of the stack (a secret) and of the sensors (a file on the board, kept by
# stacks/bin/sensor), and has it read them again when a sensor's changes. `start.sh health` is the health check.
set -eu
umask 077

RUN=/run/mosquitto
SENSORS=/mosquitto/data/sensors
# Replicas of ingest and of the simulator, each with a user of its own: a user is one connection.
REPLICAS=16
# Of the 1gb profile, where the environment gives none.
: "${MAX_CONNECTIONS:=256}" "${MAX_PACKET_BYTES:=1048576}" "${MEMORY_LIMIT:=100663296}"

if [ "${1:-}" = health ]; then
  # Options from a file: every process of the board can see arguments, and a password among them.
  XDG_CONFIG_HOME=$RUN exec mosquitto_sub -t '$SYS/broker/uptime' -C 1 -W 8
fi

# mosquitto reads one file. A sensor cannot have the name of a user of the stack.
gather() {
  if [ -e "$SENSORS" ]; then cp "$SENSORS" "$RUN/sensors"; else : >"$RUN/sensors"; fi
  names=$(cut -d: -f1 "$RUN/services" | tr '\n' ' ')
  {
    cat "$RUN/services"
    while IFS= read -r line; do
      case " $names" in
        *" ${line%%:*} "*) ;;
        *) printf '%s\n' "$line" ;;
      esac
    done <"$RUN/sensors"
  } >"$RUN/passwords.new"
  mv "$RUN/passwords.new" "$RUN/passwords"
}

slots() {
  slot=1
  while [ "$slot" -le "$REPLICAS" ]; do
    echo "$slot"
    slot=$((slot + 1))
  done
}

# The users of the stack, and those of its replicas with the same password.
services() {
  cat /run/secrets/mosquitto_passwords
  for user in ingest simulated; do
    password=$(sed -n "s/^$user://p" /run/secrets/mosquitto_passwords)
    for slot in $(slots); do echo "$user-$slot:$password"; done
  done
}

access() {
  cat /mosquitto/config/acl
  for slot in $(slots); do
    printf '\n'
    sed -n '/^user ingest$/,/^$/p' /mosquitto/config/acl | sed "s/ingest/ingest-$slot/"
  done
}

changed() {
  [ -e "$SENSORS" ] && ! cmp -s "$SENSORS" "$RUN/sensors"
}

health=$(tr -dc a-z0-9 </dev/urandom | head -c 32)
{ services; echo "health:$health"; } >"$RUN/services"
access >"$RUN/acl"
mosquitto_passwd -U "$RUN/services"
printf '%s\n' '-h localhost' '-p 8884' '--cafile /run/secrets/ca' '-u health' "-P $health" >"$RUN/mosquitto_sub"
{
  cat /mosquitto/config/mosquitto.conf
  echo "max_queued_messages $MAX_QUEUED_MESSAGES"
  echo "max_queued_bytes $MAX_QUEUED_BYTES"
  echo "max_connections $MAX_CONNECTIONS"
  echo "max_packet_size $MAX_PACKET_BYTES"
  echo "memory_limit $MEMORY_LIMIT"
} >"$RUN/mosquitto.conf"
gather

# mosquitto 2.0.11 counts a refused login as two connections less: the number of files ends what it lets in above
# max_connections. 64 are connections of services, 64 its own files.
# shellcheck disable=SC3045 # dash and busybox have it
ulimit -n $((MAX_CONNECTIONS + 128))
mosquitto -c "$RUN/mosquitto.conf" &
broker=$!
trap 'kill -TERM "$broker" 2>/dev/null || true' TERM INT
while kill -0 "$broker" 2>/dev/null; do
  sleep 2 &
  # A signal ends the wait.
  wait $! || break
  if changed; then
    gather
    # Without the lines of listeners, which hold as they are: mosquitto 2.0.11 forgets max_connections where it reads
    # them again.
    sed -E '/^(listener|max_connections|certfile|keyfile|tls_version|use_username_as_clientid) /d' \
      "$RUN/mosquitto.conf" >"$RUN/mosquitto.conf.new"
    mv "$RUN/mosquitto.conf.new" "$RUN/mosquitto.conf"
    kill -HUP "$broker"
  fi
done
wait "$broker"
