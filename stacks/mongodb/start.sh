#!/bin/bash
# Runs the image's entry point if this board can run its MongoDB. From 4.4.19 on MongoDB is built for ARMv8.2. On an
# older board it would only print "illegal instruction".
set -eu

# Features that came with ARMv8.2, with their names in Linux. A CPU that has any of them is new enough.
NEW='asimddp|asimdfhm|dcpop|fphp|sha3|sha512|sm3|sm4|sve'

old_board() {
  [ "$(uname -m)" = aarch64 ] && ! grep -qE "^Features.* ($NEW)( |\$)" "${CPUINFO:-/proc/cpuinfo}"
}

# The image sets MONGO_VERSION.
case $MONGO_VERSION in
  [0-3].* | 4.[0-3].* | 4.4.[0-9] | 4.4.1[0-8]) ;;
  *)
    if old_board; then
      echo "start.sh: MongoDB $MONGO_VERSION needs ARMv8.2, which this board does not have: on all boards of the set," \
        'MONGODB_IMAGE=mongo:4.4.18 stacks/bin/deploy mongodb; or label a Raspberry Pi 5' >&2
      exit 1
    fi
    ;;
esac
exec docker-entrypoint.sh "$@"
