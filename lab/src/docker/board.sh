#!/bin/sh
# One board: a Docker engine with a separate network, mounts and process ids. Its caller (engine.ts) runs it as
# process 1 of new mount, process and host name namespaces, so that nothing of it outlives that process.
# usage: board.sh NAME FOLDER BRIDGE ADDRESS/PREFIX GATEWAY CGROUP MEMORY_BYTES|max
set -eu
name=$1 folder=$2 bridge=$3 address=$4 gateway=$5 cgroup=$6 memory=$7

echo "$name" >/proc/sys/kernel/hostname
# The engine's own memory counts as well, as on a real board.
echo 0 >"/sys/fs/cgroup/memory$cgroup/cgroup.procs"

# What engines share by default: sockets and network namespaces, the key they are known by, containerd's programs.
resolver=$(readlink -m /etc/resolv.conf)
cp "$resolver" "$folder/resolv.conf"
for place in /run /etc/docker; do mount -t tmpfs tmpfs "$place"; done
test -e "$resolver" || install -D -m 644 "$folder/resolv.conf" "$resolver"
mount -t overlay -o "lowerdir=/opt,upperdir=$folder/opt,workdir=$folder/opt.work" overlay /opt
# Its disk for data.
mount --bind "$folder/mnt" /mnt

# The network namespace is in the private /run: it goes with the board.
ip netns add board
ip link add "$bridge.${cgroup##*/}" master "$bridge" type veth peer name eth0 netns board
ip link set "$bridge.${cgroup##*/}" up

# Of /sys, what is about networks has to be the new namespace's; control groups stay the machine's.
mkdir /run/cgroup
mount --rbind /sys/fs/cgroup /run/cgroup
exec nsenter --net=/run/netns/board sh -eu -c '
  mount -t sysfs sysfs /sys
  mount --rbind /run/cgroup /sys/fs/cgroup
  ip link set lo up
  ip address add "$1" dev eth0
  ip link set eth0 up
  ip route add default via "$2"
  # Swarm places tasks by the memory that a board reports.
  if test "$4" != max; then
    sed "s/^MemTotal: .*/MemTotal: $(($4 / 1024)) kB/" /proc/meminfo >/run/meminfo
    mount --bind /run/meminfo /proc/meminfo
  fi
  # As systemd has it: a container that sees all of the board sees what is mounted later.
  mount --make-shared /
  # Not in place of the shell: process 1 has to wait for the orphans of containers.
  dockerd --host "unix://$3/docker.sock" --host unix:///run/docker.sock --data-root "$3/data" \
    --storage-driver overlay2 --cgroup-parent "$5" &
  wait "$!"' sh "$address" "$gateway" "$folder" "$memory" "$cgroup"
