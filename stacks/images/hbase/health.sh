#!/bin/bash
# usage: health.sh ROLE: whether it serves, or waits for another that is not there: starting it again would not help.
# By bash, which opens TCP connections itself: a Java process for it would take a small board seconds.
# Swarm tells a task's names only when it is healthy, and HBase needs them early.

[ -e /tmp/waits ] && exit 0

for port in $(case $1 in
  zookeeper) echo 2181 ;;
  namenode) echo 8020 ;;
  master) echo 16000 ;;
  node) echo 9866 16020 ;;
  standalone) echo 2181 16020 ;;
esac); do
  exec 3<>"/dev/tcp/$HOSTNAME/$port" || exit 1
  [ "$port" = 2181 ] || continue
  # It takes connections before it serves.
  printf srvr >&3
  grep -q ^Mode <&3 || exit 1
done
