#!/bin/bash
# Runs the image's entry point where its MongoDB can run. From 4.4.19 on it is built for ARMv8.2: an older board would
# say "illegal instruction" and no more.
set -eu

# The CPU features that came with ARMv8.2, any of them, as Linux names them.
NEW='asimddp|asimdfhm|dcpop|fphp|sha3|sha512|sm3|sm4|sve'

old_board() {
  [ "$(uname -m)" = aarch64 ] && ! grep -qE "^Features.* ($NEW)( |\$)" "${CPUINFO:-/proc/cpuinfo}"
}

# MONGO_VERSION is the image's own.
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
