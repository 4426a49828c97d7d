import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decodeRuuvi } from '../../src/mapping/ruuvi.ts';

// Test vectors of https://docs.ruuvi.com/communication/bluetooth-advertisements. X is a reserved digit.

/** An advertisement with this manufacturer data, after flags as a tag sends them. */
function advertise(data: string): string {
  const own = `FF9904${data.replaceAll('X', 'F')}`;
  return `020106${(own.length / 2).toString(16).padStart(2, '0')}${own}`;
}

describe('the advertisement of a Ruuvi sensor', () => {
  it('in data format 3 is decoded', () => {
    assert.deepEqual(decodeRuuvi(advertise('03291A1ECE1EFC18F94202CA0B53')), {
      ...{ temperature: 26.3, humidity: 20.5, pressure: 102_766 },
      ...{ accelX: -1, accelY: -1.726, accelZ: 0.714, voltage: 2.899 },
    });
    assert.equal(decodeRuuvi(advertise('0300FF6300008001800180010000'))?.temperature, -127.99);
  });

  it('in data format 5 is decoded', () => {
    assert.deepEqual(decodeRuuvi(advertise('0512FC5394C37C0004FFFC040CAC364200CDCBB8334C884F')), {
      ...{ temperature: 24.3, humidity: 53.49, pressure: 100_044 },
      ...{ accelX: 0.004, accelY: -0.004, accelZ: 1.036, voltage: 2.977, txPower: 4 },
      ...{ movementCounter: 66, measurementSequenceNumber: 205 },
    });
    assert.deepEqual(decodeRuuvi(advertise('057FFFFFFEFFFE7FFF7FFF7FFFFFDEFEFFFECBB8334C884F')), {
      ...{ temperature: 163.835, humidity: 163.835, pressure: 115_534 },
      ...{ accelX: 32.767, accelY: 32.767, accelZ: 32.767, voltage: 3.646, txPower: 20 },
      ...{ movementCounter: 254, measurementSequenceNumber: 65_534 },
    });
    assert.deepEqual(decodeRuuvi(advertise('058001000000008001800180010000000000CBB8334C884F')), {
      ...{ temperature: -163.835, humidity: 0, pressure: 50_000 },
      ...{ accelX: -32.767, accelY: -32.767, accelZ: -32.767, voltage: 1.6, txPower: -40 },
      ...{ movementCounter: 0, measurementSequenceNumber: 0 },
    });
  });

  it('in data format 6 is decoded', () => {
    assert.deepEqual(decodeRuuvi(advertise('06170C5668C79E007000C90501D9XXCD004C884F')), {
      ...{ temperature: 29.5, humidity: 55.3, pressure: 101_102, 'PM2.5': 11.2, CO2: 201, VOC: 10, NOx: 2 },
      ...{ luminosity: 13_026.67, measurementSequenceNumber: 205 },
    });
  });

  it('in data format E1 is decoded', () => {
    const data = 'E1170C5668C79E0065007004BD11CA00C90A0213E0ACXXXXXXDECDEE01XXXXXXXXXXCBB8334C884F';
    assert.deepEqual(decodeRuuvi(advertise(data)), {
      ...{ temperature: 29.5, humidity: 55.3, pressure: 101_102 },
      ...{ 'PM1.0': 10.1, 'PM2.5': 11.2, 'PM4.0': 121.3, 'PM10.0': 455.4, CO2: 201, VOC: 20, NOx: 4 },
      ...{ luminosity: 13_027, measurementSequenceNumber: 14_601_710 },
    });
  });

  it('has no values that are not available', () => {
    assert.deepEqual(decodeRuuvi(advertise('058000FFFFFFFF800080008000FFFFFFFFFFFFFFFFFFFFFF')), {});
    assert.deepEqual(decodeRuuvi(advertise('068000FFFFFFFFFFFFFFFFFFFFFFXXFFFFFFFFFF')), {
      measurementSequenceNumber: 255,
    });
  });

  it('of another maker, or cut, is not decoded', () => {
    assert.equal(decodeRuuvi('0201061AFF4C000215'), null);
    assert.equal(decodeRuuvi('02010603FF9904'), null);
    assert.equal(decodeRuuvi(advertise('0512FC5394C3')), null);
    assert.equal(decodeRuuvi('not hexadecimal'), null);
  });

  it('never throws, and gives finite numbers only', () => {
    const bytes = fc.uint8Array({ maxLength: 60 });
    const texts = fc.oneof(
      fc.string(),
      bytes.map((own) => Buffer.from(own).toString('hex')),
      fc
        .tuple(fc.constantFrom('03', '05', '06', 'e1'), bytes)
        .map(([format, own]) => advertise(format + Buffer.from(own).toString('hex'))),
    );
    fc.assert(
      fc.property(texts, (text) => {
        for (const value of Object.values(decodeRuuvi(text) ?? {})) assert.ok(Number.isFinite(value));
      }),
    );
  });
});
