// Bluetooth advertisements of Ruuvi sensors: https://docs.ruuvi.com/communication/bluetooth-advertisements. Values that
// are not available are left out. Names are those of the Ruuvi Gateway, which decodes advertisements since version 1.15.

const HEX = /^(?:[0-9A-Fa-f]{2}){1,255}$/;
const MANUFACTURER_DATA = 0xff;
/** Company identifier of Ruuvi Innovations. */
const RUUVI = 0x0499;

type Values = Record<string, number>;

/** The values of an advertisement in hexadecimal; null when it is not one of data format 3, 5, 6 or E1. */
export function decodeRuuvi(text: string): Values | null {
  if (!HEX.test(text)) return null;
  const data = manufacturerData(Buffer.from(text, 'hex'));
  if (data === null) return null;
  if (data[0] === 0x03 && data.length >= 14) return format3(data);
  if (data[0] === 0x05 && data.length >= 18) return format5(data);
  if (data[0] === 0x06 && data.length >= 17) return format6(data);
  if (data[0] === 0xe1 && data.length >= 29) return formatE1(data);
  return null;
}

/** The data after the company identifier, in the first structure of manufacturer data (Bluetooth Core, vol. 3, C.11). */
function manufacturerData(advertisement: Buffer): Buffer | null {
  for (let at = 0; at + 1 < advertisement.length; ) {
    const length = advertisement[at]!;
    const end = at + 1 + length;
    if (length === 0 || end > advertisement.length) return null;
    const isRuuvi =
      advertisement[at + 1] === MANUFACTURER_DATA &&
      length >= 4 &&
      advertisement.readUInt16LE(at + 2) === RUUVI;
    if (isRuuvi) return advertisement.subarray(at + 4, end);
    at = end;
  }
  return null;
}

function format3(data: Buffer): Values {
  const degrees = (data[2]! & 0x7f) + data[3]! / 100;
  return {
    temperature: data[2]! & 0x80 ? -degrees : degrees,
    humidity: data[1]! / 2,
    pressure: data.readUInt16BE(4) + 50_000,
    accelX: data.readInt16BE(6) / 1000,
    accelY: data.readInt16BE(8) / 1000,
    accelZ: data.readInt16BE(10) / 1000,
    voltage: data.readUInt16BE(12) / 1000,
  };
}

function format5(data: Buffer): Values {
  const values = climate(data);
  for (const [i, axis] of ['accelX', 'accelY', 'accelZ'].entries()) {
    const value = data.readInt16BE(7 + 2 * i);
    if (value !== -0x8000) values[axis] = value / 1000;
  }
  const power = data.readUInt16BE(13);
  if (power >> 5 !== 0x7ff) values.voltage = ((power >> 5) + 1600) / 1000;
  if ((power & 0x1f) !== 0x1f) values.txPower = (power & 0x1f) * 2 - 40;
  if (data[15] !== 0xff) values.movementCounter = data[15]!;
  addUnsigned(values, 'measurementSequenceNumber', data.readUInt16BE(16), 0xffff);
  return values;
}

function format6(data: Buffer): Values {
  const values = climate(data);
  addUnsigned(values, 'PM2.5', data.readUInt16BE(7), 0xffff, 10);
  addUnsigned(values, 'CO2', data.readUInt16BE(9), 0xffff);
  addIndexes(values, data[11]!, data[12]!, data[16]!);
  // A code of 254 steps on a logarithmic scale of 65,536 values.
  if (data[13] !== 0xff) {
    values.luminosity = Math.round(100 * (Math.exp((data[13]! * Math.log(65_536)) / 254) - 1)) / 100;
  }
  values.measurementSequenceNumber = data[15]!;
  return values;
}

function formatE1(data: Buffer): Values {
  const values = climate(data);
  for (const [i, name] of ['PM1.0', 'PM2.5', 'PM4.0', 'PM10.0'].entries()) {
    addUnsigned(values, name, data.readUInt16BE(7 + 2 * i), 0xffff, 10);
  }
  addUnsigned(values, 'CO2', data.readUInt16BE(15), 0xffff);
  addIndexes(values, data[17]!, data[18]!, data[28]!);
  addUnsigned(values, 'luminosity', data.readUIntBE(19, 3), 0xffffff, 100);
  addUnsigned(values, 'measurementSequenceNumber', data.readUIntBE(25, 3), 0xffffff);
  return values;
}

/** Temperature, humidity and pressure, which formats 5, 6 and E1 have at the same place. */
function climate(data: Buffer): Values {
  const values: Values = {};
  const temperature = data.readInt16BE(1);
  if (temperature !== -0x8000) values.temperature = temperature / 200;
  addUnsigned(values, 'humidity', data.readUInt16BE(3), 0xffff, 400);
  const pressure = data.readUInt16BE(5);
  if (pressure !== 0xffff) values.pressure = pressure + 50_000;
  return values;
}

/** The indexes of VOC and NOX have nine bits, the lowest of which are in the flags. */
function addIndexes(values: Values, voc: number, nox: number, flags: number): void {
  addUnsigned(values, 'VOC', (voc << 1) | ((flags >> 6) & 1), 0x1ff);
  addUnsigned(values, 'NOx', (nox << 1) | (flags >> 7), 0x1ff);
}

function addUnsigned(values: Values, name: string, value: number, missing: number, divisor = 1): void {
  if (value !== missing) values[name] = value / divisor;
}
