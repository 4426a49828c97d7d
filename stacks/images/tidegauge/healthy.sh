#!/bin/bash
# Exits with 0 if the service in this container answers. Bash sends the request itself: the image has no curl, and to
# start node would take a small board half a second each time.
set -eu
exec 3<>"/dev/tcp/127.0.0.1/$HEALTH_PORT"
printf 'GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' >&3
read -r _ status _ <&3
test "$status" = 200
