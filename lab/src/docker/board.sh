#!/bin/sh
# One board: a Docker engine with a separate network, mounts and process ids. Its caller (engine.ts) runs it as
# process 1 of new mount, process and host name namespaces, so that all of its processes end with that process.
# usage: board.sh NAME FOLDER BRIDGE ADDRESS/PREFIX|machine GATEWAY CGROUP MEMORY_BYTES|max
set -eu
name=$1 folder=$2 bridge=$3 address=$4 gateway=$5 cgroup=$6 memory=$7

echo "$name" >/proc/sys/kernel/hostname
# The memory of the engine itself is limited too, as on a real board.
echo 0 >"/sys/fs/cgroup/memory$cgroup/cgroup.procs"

# By default all engines on a machine share these files: sockets, network namespaces, the key that identifies an
# engine, and programs of containerd. Each board needs its own.
resolver=$(readlink -m /etc/resolv.conf)
cp "$resolver" "$folder/resolv.conf"
for place in /run /etc/docker; do mount -t tmpfs tmpfs "$place"; done
test -e "$resolver" || install -D -m 644 "$folder/resolv.conf" "$resolver"
mount -t overlay -o "lowerdir=/opt,upperdir=$folder/opt,workdir=$folder/opt.work" overlay /opt
# The data disk of the board.
mount --bind "$folder/mnt" /mnt

network=/run/netns/board
if test "$address" = machine; then
  network=/proc/self/ns/net
else
  # The network namespace is in the private /run, so it is removed with the board.
  ip netns add board
  ip link add "$bridge.${cgroup##*/}" master "$bridge" type veth peer name eth0 netns board
  ip link set "$bridge.${cgroup##*/}" up
fi

# /sys must show the networks of the new namespace, but still the control groups of the machine.
mkdir /run/cgroup
mount --rbind /sys/fs/cgroup /run/cgroup
exec nsenter --net="$network" sh -eu -c '
  if test "$1" = machine; then
    options="--bridge none --iptables=false --ip-forward=false"
  else
    options=
    mount -t sysfs sysfs /sys
    mount --rbind /run/cgroup /sys/fs/cgroup
    ip link set lo up
    ip address add "$1" dev eth0
    ip link set eth0 up
    ip route add default via "$2"
  fi
  # Swarm places tasks by the memory that a board reports.
  if test "$4" != max; then
    sed "s/^MemTotal: .*/MemTotal: $(($4 / 1024)) kB/" /proc/meminfo >/run/meminfo
    mount --bind /run/meminfo /proc/meminfo
  fi
  # As under systemd: a container that mounts the root of the board also has the mounts that are made later.
  mount --make-shared /
  # No exec here: the shell is process 1 and must wait for orphaned processes of containers.
  dockerd --host "unix://$3/docker.sock" --host unix:///run/docker.sock --data-root "$3/data" \
    --storage-driver overlay2 --cgroup-parent "$5" $options &
  wait "$!"' sh "$address" "$gateway" "$folder" "$memory" "$cgroup"
