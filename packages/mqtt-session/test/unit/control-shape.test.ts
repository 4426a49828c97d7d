import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkShape } from '../../src/control-shape.ts';
import { ProtocolError } from '../../src/errors.ts';
import { Reason } from '../../src/reasons.ts';

const [WILL, CONNECT, CONNACK, PUBACK, PUBREC, PUBREL, PUBCOMP] = [0, 1, 2, 4, 5, 6, 7] as const;
const [SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK] = [8, 9, 10, 11] as const;
const [PINGREQ, PINGRESP, DISCONNECT, AUTH] = [12, 13, 14, 15] as const;
const TYPES = Array.from({ length: 16 }, (_, type) => type).filter(
  (type) => ![3, PINGREQ, PINGRESP].includes(type),
);

/** MQTT 5: the properties of each packet, from its own section, without User Property. */
const ALLOWED: Readonly<Record<number, readonly number[]>> = {
  [WILL]: [0x18, 0x01, 0x02, 0x03, 0x08, 0x09],
  [CONNECT]: [0x11, 0x21, 0x27, 0x22, 0x19, 0x17, 0x15, 0x16],
  [CONNACK]: [
    ...[0x11, 0x21, 0x24, 0x25, 0x27, 0x12, 0x22, 0x1f, 0x28, 0x29, 0x2a, 0x13, 0x1a, 0x1c, 0x15],
    0x16,
  ],
  [PUBACK]: [0x1f],
  [PUBREC]: [0x1f],
  [PUBREL]: [0x1f],
  [PUBCOMP]: [0x1f],
  [SUBSCRIBE]: [0x0b],
  [SUBACK]: [0x1f],
  [UNSUBSCRIBE]: [],
  [UNSUBACK]: [0x1f],
  [DISCONNECT]: [0x11, 0x1f, 0x1c],
  [AUTH]: [0x15, 0x16, 0x1f],
};

const TEXT = '000161';
const MQTT_5 = '00044d51545405';
const MQTT_3 = '00044d51545404';
const KEEP_ALIVE = '0000';
/** A valid value of each property, hexadecimal: MQTT 5, table 2-4. */
const VALUES: Readonly<Record<number, string>> = {
  ...{ 1: '01', 2: '00000001', 3: TEXT, 8: TEXT, 9: '0001ff', 11: '01', 17: '00000001' },
  ...{ 18: TEXT, 19: '0001', 21: TEXT, 22: '0001ff', 23: '01', 24: '00000001', 25: '01' },
  ...{ 26: TEXT, 28: TEXT, 31: TEXT, 33: '0001', 34: '0001', 36: '01', 37: '01' },
  ...{ 38: TEXT + TEXT, 39: '00000001', 40: '01', 41: '01', 42: '01' },
};

/** The body of a packet with properties, hexadecimal. */
function bodyWith(type: number, properties: string): string {
  const list = byte(properties.length / 2) + properties;
  if (type === WILL) return `${MQTT_5}04${KEEP_ALIVE}00${TEXT}${list}${TEXT}0000`;
  if (type === CONNECT) return `${MQTT_5}00${KEEP_ALIVE}${list}${TEXT}`;
  if (type === CONNACK) return `0000${list}`;
  if (type === SUBSCRIBE) return `0001${list}${TEXT}00`;
  if (type === UNSUBSCRIBE) return `0001${list}${TEXT}`;
  if (type === SUBACK || type === UNSUBACK) return `0001${list}00`;
  return `${type === DISCONNECT || type === AUTH ? '' : '0001'}00${list}`;
}

function byte(value: number): string {
  return value.toString(16).padStart(2, '0');
}

/** A frame with a body. Its flags are those of the standard. */
function frame(type: number, body: string): string {
  const first =
    (type === WILL ? CONNECT : type) * 16 + ([PUBREL, SUBSCRIBE, UNSUBSCRIBE].includes(type as 6) ? 2 : 0);
  const length = body.length / 2;
  return byte(first) + (length < 128 ? byte(length) : byte((length % 128) + 128) + byte(length >> 7)) + body;
}

/** What is wrong with a frame: null when nothing is. */
function wrong(hex: string, version: 4 | 5 = 5): 'malformed' | 'protocol error' | null {
  try {
    checkShape(Buffer.from(hex, 'hex'), version);
    return null;
  } catch (error) {
    assert.ok(error instanceof ProtocolError, `${error}`);
    return error.reasonCode === Reason.MALFORMED_PACKET ? 'malformed' : 'protocol error';
  }
}

describe('the properties of MQTT 5', () => {
  for (const type of TYPES) {
    test(`a packet of type ${type === WILL ? '1, in its will,' : type} has those of the standard only`, () => {
      assert.equal(wrong(frame(type, bodyWith(type, ''))), null);
      for (let id = 0; id < 0x30; id++) {
        const value = VALUES[id] ?? '01';
        const isAllowed = id === 0x26 || ALLOWED[type]!.includes(id);
        // Data needs a method.
        const method = id === 0x16 && isAllowed ? `15${TEXT}` : '';
        const property = byte(id) + value;
        const problem = wrong(frame(type, bodyWith(type, method + property)));
        assert.equal(problem, isAllowed ? null : 'malformed', `property ${id}`);
        if (!isAllowed) continue;
        const twice = wrong(frame(type, bodyWith(type, method + property + property)));
        assert.equal(twice, id === 0x26 ? null : 'protocol error', `property ${id} twice`);
        const short = (method + property).slice(0, -2);
        assert.equal(wrong(frame(type, bodyWith(type, short))), 'malformed', `property ${id} is short`);
      }
    });
  }

  test('are not zero, and not above 1, where the standard demands it', () => {
    const property = (type: number, text: string) => wrong(frame(type, bodyWith(type, text)));
    for (const [type, zero] of [
      [SUBSCRIBE, '0b00'],
      [CONNECT, '210000'],
      [CONNECT, '2700000000'],
    ] as const)
      assert.equal(property(type, zero), 'protocol error', zero);
    for (const [type, two] of [
      [WILL, '0102'],
      [CONNECT, '1702'],
      [CONNECT, '1902'],
      [CONNACK, '2502'],
      [CONNACK, '2802'],
      [CONNACK, '2902'],
      [CONNACK, '2a02'],
    ] as const) {
      assert.equal(property(type, two), 'protocol error', two);
      assert.equal(property(type, two.replace(/2$/, '0')), null, two);
    }
    assert.equal(property(CONNACK, '2402'), null);
    assert.equal(property(CONNACK, '220000'), null);
  });

  test('have well-formed texts, a Response Topic that is a topic, and a method for data', () => {
    for (const [type, text, problem] of [
      [CONNECT, '15000100', 'malformed'],
      [CONNECT, '150001ff', 'malformed'],
      [CONNECT, '15000161160001ff', null],
      [CONNECT, '160001ff', 'protocol error'],
      [CONNECT, '260001ff000161', 'malformed'],
      [CONNECT, '26000161000100', 'malformed'],
      [WILL, '0800012b', 'protocol error'],
      [WILL, '08000123', 'protocol error'],
      [WILL, '080000', 'protocol error'],
      [WILL, '09000100', null],
    ] as const)
      assert.equal(wrong(frame(type, bodyWith(type, text))), problem, text);
  });

  test('have a length in as few bytes as it needs, which ends with a property', () => {
    const long = `1f0100${'61'.repeat(256)}`;
    const withLong = (length: string) => wrong(frame(PUBACK, `000100${length}${long}`));
    assert.equal(withLong('8302'), null);
    assert.equal(withLong('8202'), 'malformed');
    assert.equal(withLong('8402'), 'malformed');
    assert.equal(withLong('838200'), 'malformed', 'a length with a byte too many');
    for (const length of ['80', '8000', 'ffffffff', 'ffffffff7f'])
      assert.equal(wrong(frame(PUBACK, `000100${length}`)), 'malformed', length);
    assert.equal(wrong(frame(SUBSCRIBE, `000103260001${TEXT}00`)), 'malformed');
    assert.equal(wrong(frame(PUBACK, '0001000000')), 'malformed', 'a byte after the properties');
    assert.equal(wrong(frame(AUTH, '000000')), 'malformed', 'a byte after the properties');
  });
});

describe('a control packet', () => {
  test('has the flags of its type', () => {
    for (const type of [CONNECT, CONNACK, PUBACK, PUBREC, PUBREL, PUBCOMP, SUBSCRIBE, SUBACK, UNSUBSCRIBE]) {
      const good = Buffer.from(frame(type, bodyWith(type, '')), 'hex');
      for (let bits = 0; bits < 16; bits++) {
        const changed = Buffer.from(good);
        changed[0] = (good[0]! & 0xf0) | bits;
        assert.equal(wrong(changed.toString('hex')), changed[0] === good[0] ? null : 'malformed');
      }
    }
    assert.equal(wrong(frame(CONNACK, '010000')), null, 'a session is present');
    assert.equal(wrong(frame(CONNACK, '020000')), 'malformed');
    assert.equal(wrong(frame(PUBACK, '0200')), null);
  });

  test('of MQTT 5 can leave out its reason and properties where the standard allows it', () => {
    for (const type of [PUBACK, PUBREC, PUBREL, PUBCOMP]) {
      for (const body of ['0001', '000100', '00010000']) assert.equal(wrong(frame(type, body)), null, body);
      for (const body of ['', '00']) assert.equal(wrong(frame(type, body)), 'malformed', body);
    }
    for (const type of [DISCONNECT, AUTH])
      for (const body of ['', '00', '0000']) assert.equal(wrong(frame(type, body)), null, body);
    for (const type of [CONNACK, SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK])
      for (const body of ['', '00', '0001'])
        if (type !== CONNACK || body !== '0001') assert.equal(wrong(frame(type, body)), 'malformed', body);
    assert.equal(wrong(frame(CONNACK, '0001')), null, 'a server of MQTT 3.1.1 refuses MQTT 5');
    assert.equal(wrong(frame(CONNACK, '0000')), 'malformed');
    assert.equal(wrong(frame(CONNACK, '000001')), 'malformed');
    for (const type of [PINGREQ, PINGRESP]) {
      assert.equal(wrong(frame(type, '')), null);
      assert.equal(wrong(frame(type, '00')), 'malformed');
    }
    assert.equal(wrong(frame(15, '')), null);
  });

  test('of MQTT 3.1.1 has a fixed length', () => {
    for (const type of [CONNACK, PUBACK, PUBREC, PUBREL, PUBCOMP, UNSUBACK]) {
      assert.equal(wrong(frame(type, '0001'), 4), null);
      for (const body of ['', '00', '000100']) assert.equal(wrong(frame(type, body), 4), 'malformed');
    }
    assert.equal(wrong(frame(DISCONNECT, ''), 4), null);
    assert.equal(wrong(frame(DISCONNECT, '00'), 4), 'malformed');
    assert.equal(wrong(frame(SUBACK, '00010000'), 4), null);
  });
});

describe('CONNECT', () => {
  const connect = (flags: string, after: string, protocol = MQTT_5) =>
    wrong(frame(CONNECT, `${protocol}${flags}${KEEP_ALIVE}${protocol === MQTT_5 ? '00' : ''}${after}`));

  test('has the fields that its flags announce, and no others', () => {
    for (const [flags, fields] of [
      ['00', TEXT],
      ['02', TEXT],
      ['80', TEXT + TEXT],
      ['c0', TEXT + TEXT + TEXT],
    ] as const) {
      for (const protocol of [MQTT_5, MQTT_3]) {
        assert.equal(connect(flags, fields, protocol), null, flags);
        assert.equal(connect(flags, `${fields}00`, protocol), 'malformed', `${flags} and a byte more`);
        assert.equal(connect(flags, fields.slice(0, -2), protocol), 'malformed', `${flags} and a byte less`);
      }
    }
    for (const flags of ['04', '0c', '14', '24', '2c']) {
      assert.equal(connect(flags, `${TEXT}00${TEXT}0001ff`), null, flags);
      assert.equal(connect(flags, `${TEXT}${TEXT}0001ff`, MQTT_3), null, flags);
      assert.equal(connect(flags, `${TEXT}00${TEXT}0001`), 'malformed', flags);
      assert.equal(connect(flags, `${TEXT}000001ff0001ff`), 'malformed', 'a topic that is no UTF-8');
    }
    assert.equal(connect('40', TEXT + TEXT), null, 'MQTT 5 has passwords without a user name');
    assert.equal(connect('40', TEXT + TEXT, MQTT_3), 'malformed');
    assert.equal(connect('c0', `${TEXT}${TEXT}0001ff`), null, 'a password of any bytes');
    assert.equal(connect('80', `${TEXT}0001ff`), 'malformed');
    assert.equal(connect('00', '0001ff'), 'malformed', 'a client id that is no UTF-8');
    assert.equal(wrong(frame(CONNECT, `0001ff0500${KEEP_ALIVE}00${TEXT}`)), 'malformed');
  });

  test('has no reserved flags, and none of a will without it', () => {
    for (const flags of ['01', '08', '10', '18', '20', '1c', '3c'])
      assert.equal(connect(flags, `${TEXT}00${TEXT}0001ff`), 'malformed', flags);
    for (const flags of ['01', '08', '10', '20']) assert.equal(connect(flags, TEXT), 'malformed', flags);
  });
});

describe('SUBSCRIBE and UNSUBSCRIBE', () => {
  test('have filters, and options of their version', () => {
    for (const [type, version, body, problem] of [
      [SUBSCRIBE, 5, `000100${TEXT}00${TEXT}2e`, null],
      [SUBSCRIBE, 5, '000103260000', 'malformed'],
      [SUBSCRIBE, 5, `00010726${TEXT}${TEXT}`, 'protocol error'],
      [SUBSCRIBE, 5, `00010726${TEXT}${TEXT}${TEXT}00`, null],
      [SUBSCRIBE, 5, `0001010b0100${'61'.repeat(256)}00`, 'malformed'],
      [SUBSCRIBE, 5, '000100', 'protocol error'],
      [SUBSCRIBE, 5, `000000${TEXT}00`, 'protocol error'],
      [SUBSCRIBE, 5, '000100000000', 'protocol error'],
      [SUBSCRIBE, 5, `000100${TEXT}`, 'malformed'],
      [SUBSCRIBE, 5, `000100${TEXT}00${TEXT}`, 'malformed'],
      [SUBSCRIBE, 5, '0001000001ff00', 'malformed'],
      [SUBSCRIBE, 5, `000100${TEXT}03`, 'malformed'],
      [SUBSCRIBE, 5, `000100${TEXT}40`, 'malformed'],
      [SUBSCRIBE, 5, `000100${TEXT}80`, 'malformed'],
      [SUBSCRIBE, 5, `000100${TEXT}30`, 'protocol error'],
      [SUBSCRIBE, 5, `000100${TEXT}20`, null],
      [SUBSCRIBE, 4, `0001${TEXT}02`, null],
      [SUBSCRIBE, 4, `0001${TEXT}04`, 'malformed'],
      [SUBSCRIBE, 4, `0001${TEXT}03`, 'malformed'],
      [SUBSCRIBE, 4, '0001', 'protocol error'],
      [UNSUBSCRIBE, 5, `000100${TEXT}${TEXT}`, null],
      [UNSUBSCRIBE, 5, '000100', 'protocol error'],
      [UNSUBSCRIBE, 5, `000000${TEXT}`, 'protocol error'],
      [UNSUBSCRIBE, 4, `0001${TEXT}${TEXT}`, null],
      [UNSUBSCRIBE, 4, `0001${TEXT}00`, 'malformed'],
    ] as const)
      assert.equal(wrong(frame(type, body), version), problem, `${type} of version ${version}: ${body}`);
  });
});
