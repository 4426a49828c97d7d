#!/bin/sh
# usage: node-exporter.sh [OPTION...]: the node exporter, with the network of the board. On the network by which
# Prometheus finds it, it sees a container's interfaces only; the board's own counters are in the board's /sys, and it
# reads them from a file, under the names of its collector netdev.
set -eu

folder=/run/network

counters() {
  for interface in "$1"/*; do
    device=${interface##*/}
    case $device in
      '*' | lo | veth* | br-* | docker*) continue ;;
    esac
    for name in receive_bytes:rx_bytes receive_packets:rx_packets receive_errs:rx_errors receive_drop:rx_dropped \
      transmit_bytes:tx_bytes transmit_packets:tx_packets transmit_errs:tx_errors transmit_drop:tx_dropped; do
      # It may be gone by now, as a USB adapter is.
      if read -r value <"$interface/statistics/${name#*:}"; then
        printf 'node_network_%s_total{device="%s"} %s\n' "${name%:*}" "$device" "$value"
      fi
    done 2>/dev/null
  done
}

# Whole, or as it was: the exporter may read at any moment.
watch() {
  while :; do
    counters /host/sys/class/net >"$folder/network.new"
    mv "$folder/network.new" "$folder/network.prom"
    sleep 5
  done
}

watch &
exec node_exporter --collector.textfile.directory="$folder" "$@"
