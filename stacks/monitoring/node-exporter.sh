#!/bin/sh
# usage: node-exporter.sh [OPTION...]: runs the node exporter and adds the network statistics of the board. In its own
# network namespace the exporter sees the interfaces of the container only. The counters of the board are in the board's
# /sys. This script copies them to a file every NETWORK_INTERVAL seconds (default 5), under the names of the collector
# netdev, and the exporter reads the file.
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
      # An interface, such as a USB adapter, can disappear at any time.
      if read -r value <"$interface/statistics/${name#*:}"; then
        printf 'node_network_%s_total{device="%s"} %s\n' "${name%:*}" "$device" "$value"
      fi
    done 2>/dev/null
  done
}

# Replaces the file atomically, because the exporter can read it at any moment.
watch() {
  while :; do
    counters /host/sys/class/net >"$folder/network.new"
    mv "$folder/network.new" "$folder/network.prom"
    sleep "${NETWORK_INTERVAL:-5}"
  done
}

watch &
exec node_exporter --collector.textfile.directory="$folder" "$@"
