import protobuf from 'protobufjs';

/** The fields of Sparkplug 3.0.0, section 6.4.1, that the tests write. */
const { root } = protobuf.parse(
  `syntax = "proto2";
message Value {
  optional uint32 type = 1; optional uint32 int_value = 3; optional uint64 long_value = 4; optional string string_value = 8;
}
message Set { repeated string keys = 1; repeated Value values = 2; }
message Metric {
  optional string name = 1; optional uint64 alias = 2; optional uint64 timestamp = 3; optional uint32 datatype = 4;
  optional bool is_historical = 5; optional bool is_null = 7; optional Set properties = 9;
  optional uint32 int_value = 10; optional uint64 long_value = 11; optional float float_value = 12;
  optional double double_value = 13; optional bool boolean_value = 14; optional string string_value = 15;
  optional bytes bytes_value = 16; optional bytes dataset_value = 17; optional bytes template_value = 18;
}
message Payload {
  optional uint64 timestamp = 1; repeated Metric metrics = 2; optional uint64 seq = 3; optional string uuid = 4;
}`,
  { keepCase: true },
);
/** The message of every topic but STATE. */
export const Payload = root.lookupType('Payload');

export type Metric = Readonly<Record<string, unknown>>;
/** 2017-02-03T17:55:02.122Z, the time of the examples in the specification. */
export const TIMESTAMP = 1486144502122;
/** Encodes a payload. */
export const encode = (
  seq: number | null,
  metrics: readonly Metric[],
  timestamp: number | null = TIMESTAMP,
): Uint8Array =>
  Payload.encode(
    Payload.fromObject({
      ...(seq === null ? {} : { seq }),
      ...(timestamp === null ? {} : { timestamp }),
      metrics,
    }),
  ).finish();

// The examples of sections 6.4.19 to 6.4.24 of the specification, as an edge node with aliases sends them.
export const NBIRTH = encode(0, [
  { name: 'bdSeq', timestamp: TIMESTAMP, datatype: 4, long_value: 0 },
  { name: 'Node Control/Reboot', timestamp: TIMESTAMP, datatype: 11, boolean_value: false },
  { name: 'Node Control/Rebirth', timestamp: TIMESTAMP, datatype: 11, boolean_value: false },
  { name: 'Properties/Hardware Make', timestamp: TIMESTAMP, datatype: 12, string_value: 'Sonic' },
  {
    name: 'Supply Voltage',
    alias: 0,
    timestamp: TIMESTAMP,
    datatype: 9,
    float_value: 12.1,
    properties: { keys: ['x', 'engUnit'], values: [{}, { type: 12, string_value: 'V' }] },
  },
]);
export const DBIRTH = encode(1, [
  { name: 'Inputs/A', alias: 10, timestamp: TIMESTAMP, datatype: 11, boolean_value: false },
  { name: 'Inputs/Level', alias: 11, timestamp: TIMESTAMP, datatype: 3, int_value: 0xfffffffb },
]);
