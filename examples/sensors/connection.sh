# shellcheck shell=sh
# Settings of the example scripts, from environment variables. Other scripts read this file.
#   BROKER         host name or address of the broker. Default: 127.0.0.1.
#   PORT           default 1883, or 8883 with CA_FILE
#   CA_FILE        certificate of the authority, for a broker with TLS
#   MQTT_USER      user of the broker. It can only publish below sensors/MQTT_USER.
#   MQTT_PASSWORD  its password
#   TIMEOUT        longest time for a message, seconds. Default: 10.

# shellcheck disable=SC2034 # The scripts use it.
TOPICS=sensors/${MQTT_USER:-site-1}

# Publishes the payload $2 on the topic $1 with QoS 1: mosquitto_pub returns when the broker has acknowledged it.
publish() {
  send -t "$1" -m "$2"
}

# Publishes each line of standard input on the topic $1, in the same way.
publish_lines() {
  send -t "$1" -l
}

# Prints each message of the topic $1 as a line, for $2 seconds. Fails without a broker.
receive() {
  connect "$2" stdbuf -oL mosquitto_sub -t "$1" || [ $? -eq 124 ]
}

# Calls mosquitto_pub, for TIMEOUT seconds at most. While the broker is unavailable it can wait that long.
send() {
  connect "${TIMEOUT:-10}" mosquitto_pub "$@"
}

# Calls a program for $1 seconds at most, with the address and the login of the broker.
connect() (
  set -- "$@" -h "${BROKER:-127.0.0.1}" -p "${PORT:-$([ -n "${CA_FILE:-}" ] && echo 8883 || echo 1883)}" -q 1
  if [ -n "${CA_FILE:-}" ]; then set -- "$@" --cafile "$CA_FILE"; fi
  if [ -n "${MQTT_USER:-}" ]; then set -- "$@" -u "$MQTT_USER" -P "${MQTT_PASSWORD:-}"; fi
  timeout "$@"
)
