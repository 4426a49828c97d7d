# shellcheck shell=sh
# Settings of the example scripts, from environment variables. Other scripts read this file.
#   BROKER         host name or address of the broker. Default: 127.0.0.1.
#   PORT           default 1883, or 8883 with CA_FILE
#   CA_FILE        certificate of the authority, for a broker with TLS
#   MQTT_USER      user of the broker. It can only publish below sensors/MQTT_USER.
#   MQTT_PASSWORD  its password

# shellcheck disable=SC2034 # The scripts use it.
TOPICS=sensors/${MQTT_USER:-site-1}

# Publishes the payload $2 on the topic $1 with QoS 1: mosquitto_pub returns when the broker has acknowledged it.
publish() (
  set -- -t "$1" -m "$2"
  if [ -n "${CA_FILE:-}" ]; then set -- "$@" --cafile "$CA_FILE"; fi
  if [ -n "${MQTT_USER:-}" ]; then set -- "$@" -u "$MQTT_USER" -P "${MQTT_PASSWORD:-}"; fi
  mosquitto_pub -h "${BROKER:-127.0.0.1}" -p "${PORT:-$([ -n "${CA_FILE:-}" ] && echo 8883 || echo 1883)}" -q 1 "$@"
)
