import { type DecodeContext, DecodeError } from './codec.ts';
import { isTable } from './mapping/paths.ts';
import { quote } from './quote.ts';

// A gateway sends the values of its sensors as an array of records, each with a name or an address: {"mac": "A4C138…",
// "temperature": 21.5}. Without a device the records would be one series.

/** Fields with the address or number of a device, also with a word before it (`ble_mac`), without case and separators. */
const ADDRESS =
  /(?:mac|macaddr|macaddress|bdaddr|eui|eui64|serial|serialno|serialnr|serialnumber|deviceid|devid|devaddr|sensorid|nodeid|imei|uuid)$/;
/** Other fields that can say which sensor a record is of. */
const NAME =
  /^(?:id|uid|guid|sn|addr|address|name|device|devicename|deviceno|sensor|sensorname|node|nodename|probe|probeid|station|stationid|meterid|meterno|tagid|beacon|beaconid|unitid|slave|slaveid|channel|host|hostname|hwid|chipid)$/;
/** Fields that name a sensor, and no message or channel. */
const SENSOR = /sensor|device|node|probe|station|beacon|host/i;
const LONGEST_NAME = 40;
/** Names of fields that were classified: most payloads have the same few. */
const MOST_KNOWN = 1000;
const known = new Map<string, 0 | 1 | 2>();

/**
 * The field that names the senders of records: they have different values in it. Null without one. It is a path when it is
 * in an object of the record: `tags.host`.
 *
 * @param accepts whether a field counts; `isAddress` is false for names that can also be numbers of messages
 */
export function senderField(
  records: readonly unknown[],
  accepts: (field: string, isAddress: boolean) => boolean = () => true,
): string | null {
  const first = new Map<string, unknown>();
  for (const record of records) {
    if (!isTable(record)) continue;
    let found: string | null = null;
    let best = 0;
    const visit = (path: string, field: string, value: unknown) => {
      const rank = rankOf(field);
      if (rank === 0 || !isFilled(value) || !accepts(path, rank === 2)) return;
      const other = first.get(path);
      if (other === undefined) first.set(path, value);
      else if (other !== value && rank > best) {
        found = path;
        best = rank;
      }
    };
    for (const field in record) {
      const value = record[field];
      if (isTable(value)) for (const below in value) visit(`${field}.${below}`, below, value[below]);
      else visit(field, field, value);
    }
    if (found !== null) return found;
  }
  return null;
}

/** Records without those whose field `device` is their device. */
export function withoutDevice(records: readonly unknown[]): readonly unknown[] {
  return records.filter((record) => !isTable(record) || !isFilled(record.device));
}

/** The field that can name the sender of a record, best an address; null without one. */
export function nameField(record: Readonly<Record<string, unknown>>): string | null {
  let found: string | null = null;
  for (const field in record) {
    const isBetter = rankOf(field) > (found === null ? 0 : rankOf(found));
    if (isBetter && isFilled(record[field])) found = field;
  }
  return found;
}

/**
 * The refusal of records of several senders, with the mapping that names their devices.
 *
 * @param list the path of the array of records; empty for the payload
 */
export function severalSenders(field: string, { device }: DecodeContext, list = ''): DecodeError {
  const path = /^[\w.-]+$/.test(field) ? field : 'FIELD';
  const isPath = /^[\w.-]+$/.test(list);
  const template = device === null ? `{${path}}` : `{device}/{${path}}`;
  // `records` reads a field `device` as the device of its record.
  const isDevice = field === 'device';
  const setting = [
    ...(list === '' ? [] : [`records: ${isPath ? list : 'PATH'}`]),
    ...(isDevice ? [] : [`device: '${template}'`]),
  ].join(', ');
  const dropped = list === '' ? path : `'${isPath ? list : '*'}.*.${path}'`;
  return new DecodeError(
    'invalid_name',
    `the records${list === '' ? '' : ` of ${quote(list)}`} have ${isDevice ? '' : 'no device, and '}different values of ` +
      `${quote(field)}, so they would be mixed in one series; set mapping: { ${setting} }, or when it names no sender, ` +
      `mapping: { drop: [${dropped}] }`,
  );
}

/** Whether a field can name a sensor, and no message or channel. */
export function namesSender(field: string): boolean {
  return SENSOR.test(field.slice(field.lastIndexOf('.') + 1));
}

/** Whether a field has the address or number of a device. */
export function isAddress(field: string): boolean {
  return rankOf(field) === 2;
}

/** Whether a field can name the sender of a record. */
export function mayNameSender(field: string): boolean {
  return rankOf(field) > 0;
}

/** 2 for an address, 1 for another name, 0 for a field with another meaning. */
function rankOf(field: string): 0 | 1 | 2 {
  const before = known.get(field);
  if (before !== undefined) return before;
  if (field.length > LONGEST_NAME) return 0;
  const word = field.toLowerCase().replace(/[_ -]/g, '');
  const rank = ADDRESS.test(word) ? 2 : NAME.test(word) ? 1 : 0;
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(field, rank);
  return rank;
}

function isFilled(value: unknown): boolean {
  return (typeof value === 'string' && value !== '') || typeof value === 'number';
}
