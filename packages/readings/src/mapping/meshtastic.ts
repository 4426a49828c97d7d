type Fields = Readonly<Record<string, unknown>>;

/**
 * The payload of a packet of a Meshtastic node, with the names apart that packets of two kinds share.
 * https://github.com/meshtastic/firmware/blob/master/src/serialization/MeshPacketSerializer.cpp
 *
 * @param packet the packet, which has one type for all kinds of telemetry
 */
export function readMeshtastic(payload: Fields, packet: Fields): Fields {
  // A waypoint is somewhere else than its node.
  if (packet.type === 'waypoint') return { waypoint: payload };
  // Telemetry of the node has its battery. Without it, the voltage is that of a sensor.
  const isOfNode = 'battery_level' in payload || 'channel_utilization' in payload;
  if (isOfNode || payload.voltage === undefined) return payload;
  const { voltage, ...others } = payload;
  return { ...others, environment_voltage: voltage };
}
