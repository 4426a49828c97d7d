#!/bin/bash
# usage: healthy.sh [HOST [PORT]]: exits with 0 if MongoDB answers {ping: 1} with {ok: 1}. Bash sends the request itself
# (an OP_MSG with one BSON document), because mongosh would take a small board seconds and 100 MB each time.
exec 3<>"/dev/tcp/${1:-127.0.0.1}/${2:-27017}" || exit 1
printf '\63\0\0\0\1\0\0\0\0\0\0\0\335\7\0\0\0\0\0\0\0\36\0\0\0\20ping\0\1\0\0\0\2$db\0\6\0\0\0admin\0\0' >&3
# The answer has 21 bytes of header and 4 of length. Its first field must be "ok", the double 1.
[ "$(timeout 5 head -c 37 <&3 | tail -c 12 | od -An -tx1 | tr -d ' \n')" = 016f6b00000000000000f03f ]
