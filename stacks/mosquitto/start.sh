#!/bin/sh
# Runs mosquitto with the users of the stack (a secret) and of the sensors (a file on the board, kept by
# stacks/bin/sensor), and lets it read them again when a sensor's changes. `start.sh health` is the health check.
set -eu

RUN=/run/mosquitto
SENSORS=/mosquitto/data/sensors

if [ "${1:-}" = health ]; then
  # Options from a file: a password among arguments can be seen by every process of the board.
  XDG_CONFIG_HOME=$RUN exec mosquitto_sub -t '$SYS/broker/uptime' -C 1 -W 8
fi
