#!/bin/bash
# Waits for the given number of members. Then it creates the replica set and Tidegauge's user on the first member.
set -eu

WAIT_S=600

hosts=
for number in $(seq "$MEMBERS"); do
  waited=0
  until bash /etc/tidegauge/healthy.sh "mongodb-$number" 2>/dev/null; do
    if [ "$waited" -ge "$WAIT_S" ]; then
      echo "init.sh: mongodb-$number does not answer: label a board tidegauge.mongodb=$number, see its log" >&2
      exit 1
    fi
    sleep 2
    waited=$((waited + 2))
  done
  hosts=$hosts${hosts:+,}mongodb-$number:27017
done
# mongosh, or the mongo shell of 4.4.
shell=$(command -v mongosh || command -v mongo)
exec "$shell" --quiet --norc --host mongodb-1 --port 27017 --eval "var hosts = '$hosts', secrets = '/run/secrets'" \
  /etc/tidegauge/replica-set.js
