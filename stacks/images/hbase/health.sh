#!/bin/bash
# usage: health.sh ROLE: exits with 0 if the role serves, or waits for another role: a restart would not help then.
# Bash opens the TCP connection itself: a Java process would take a small board seconds.
# Swarm publishes a task's names only when the task is healthy, and HBase needs the names early.

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
  # ZooKeeper accepts connections before it serves.
  printf srvr >&3
  grep -q ^Mode <&3 || exit 1
done
