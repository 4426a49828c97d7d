#!/bin/sh
# Runs mosquitto with the users of the stack (a secret) and of the sensors (a file on the board, which
# stacks/bin/sensor writes), and reloads them when the file changes. `start.sh health` is the health check.
set -eu
umask 077

RUN=/run/mosquitto
SENSORS=/mosquitto/data/sensors
# Revoked certificates of sensors (stacks/bin/sensor-certificate). The broker reads them when it starts.
REVOKED=/mosquitto/data/revoked.pem
# mosquitto 2.1 has it. It saves changes as they are made; without it, the broker writes all queues at an interval.
PERSIST=/usr/lib/mosquitto_persist_sqlite.so
# Replicas of ingest and of the simulator. Each has its own user, because a user has one connection.
REPLICAS=16
# The values of the 1gb profile are the defaults.
: "${FLUSH_SECONDS:=1}" "${MAX_CONNECTIONS:=256}" "${MAX_PACKET_BYTES:=1048576}" "${MEMORY_LIMIT:=100663296}"

if [ "${1:-}" = health ]; then
  # Options from a file: every process of the board can see arguments, and so the password.
  XDG_CONFIG_HOME=$RUN exec mosquitto_sub -t '$SYS/broker/uptime' -C 1 -W 8
fi

# mosquitto reads a single file of users. A sensor cannot have the name of a user of the stack.
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

# A listener for sensors with a certificate of the stack's authority in place of a password. The common name is the user,
# whatever name the client sends. It comes first, because max_connections applies to the last listener.
certificates() {
  [ "${SENSOR_CERTIFICATES:-false}" = true ] || return 0
  cat <<LISTENER
listener 8885
max_connections $MAX_CONNECTIONS
cafile /run/secrets/ca
certfile /run/secrets/mosquitto_cert
keyfile /run/secrets/mosquitto_key
tls_version tlsv1.2
require_certificate true
use_identity_as_username true
use_username_as_clientid true
LISTENER
  if [ -e "$REVOKED" ]; then echo "crlfile $REVOKED"; fi
}

# What a power failure loses: of the messages that the broker has acknowledged and ingest has not, those of the last
# FLUSH_SECONDS with the plugin, and those of the last minute without it. A shorter interval would write the whole file
# more often, and wear out an SD card when the queue is long. ADR 11 has the measurements.
persistence() {
  if [ -e "$PERSIST" ]; then
    printf '%s\n' 'persistence false' "global_plugin $PERSIST" 'plugin_opt_sync full' \
      "plugin_opt_flush_period $FLUSH_SECONDS"
  else
    printf '%s\n' 'persistence true' 'autosave_interval 60'
  fi
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
  certificates
  cat /mosquitto/config/mosquitto.conf
  persistence
  echo "max_queued_messages $MAX_QUEUED_MESSAGES"
  echo "max_queued_bytes $MAX_QUEUED_BYTES"
  echo "max_connections $MAX_CONNECTIONS"
  echo "max_packet_size $MAX_PACKET_BYTES"
  echo "memory_limit $MEMORY_LIMIT"
} >"$RUN/mosquitto.conf"
gather

certificate_listeners=0
[ "${SENSOR_CERTIFICATES:-false}" != true ] || certificate_listeners=1
# mosquitto 2.0.11 subtracts two connections for a refused login, so it may accept more than max_connections. The limit
# of open files bounds them: 64 for connections of services, 64 for its own files.
# shellcheck disable=SC3045 # dash and busybox have it
ulimit -n $((MAX_CONNECTIONS * (certificate_listeners + 1) + 128))
mosquitto -c "$RUN/mosquitto.conf" &
broker=$!
trap 'kill -TERM "$broker" 2>/dev/null || true' TERM INT
while kill -0 "$broker" 2>/dev/null; do
  sleep 2 &
  # A signal ends the wait.
  wait $! || break
  if changed; then
    gather
    # Without the lines of listeners, which stay in effect. mosquitto 2.0.11 loses max_connections if it reads them
    # again.
    sed -E '/^(listener|max_connections|cafile|crlfile|certfile|keyfile|tls_version|require_certificate|use_[a-z_]+) /d' \
      "$RUN/mosquitto.conf" >"$RUN/mosquitto.conf.new"
    mv "$RUN/mosquitto.conf.new" "$RUN/mosquitto.conf"
    kill -HUP "$broker"
  fi
done
wait "$broker"
