import { type DeliveryDocument, type Device, deviceNameProblem, isTable } from '@tidegauge/readings';
import { Problem } from '@tidegauge/service';
import { type DayFigures, MOST_DAY } from './day-digest.ts';

/** Where relayed readings are sent, below the URL of the centre. */
export const RELAY_PATH = '/v1/relay';
/** The version of the header. */
const VERSION = 1;
/** Ids of processes in one answer. Chains are short. */
const MOST_BEYOND = 32;
/** Devices in one header. Each has at most about 17 KiB. */
export const MOST_DEVICES = 32;
/** Devices that an answer names. */
export const MOST_NAMED = 5;

/** One day of a device on the board, to be compared. */
export interface DayOfDevice extends DayFigures {
  readonly device: string;
  /** UTC, counted since the epoch. */
  readonly day: number;
  /** Only readings before this time count, microseconds since the epoch. */
  readonly until: number;
}

/** The first line of a request: about the board, and what it sends besides readings. */
export interface RelayHeader {
  /** The id of the board's process, which stays the same. */
  readonly board: string;
  /** The board's name, for people. */
  readonly name: string;
  /** What waits on the board. */
  readonly backlogBytes: number;
  /** How long the oldest of it waits. */
  readonly lagSeconds: number;
  /** Registered devices that are new or changed. */
  readonly devices: readonly Device[];
  readonly compare: DayOfDevice | null;
}

/** The answer to a request: `received` counts the readings that were not refused. */
export interface RelayAnswer extends DeliveryDocument {
  /** The id of the centre's process. */
  readonly centre: string;
  /** Ids of the processes to which the centre relays, directly and indirectly. */
  readonly beyond: readonly string[];
  /** Readings, devices and days that are not of the key's devices, or that the store refused. */
  readonly refused: number;
  /** Some of their devices. */
  readonly refusedDevices: readonly string[];
  /** With `compare`: whether the day is the same on both sides, and the number of readings at the centre. */
  readonly compared: { readonly isEqual: boolean; readonly count: number } | null;
}

/** A request: its header, and the lines of its readings. */
export interface RelayRequest {
  readonly header: RelayHeader;
  readonly payload: Uint8Array;
}

/** Encodes a header with its newline. */
export function encodeHeader(header: RelayHeader): Buffer {
  return Buffer.from(`${JSON.stringify({ version: VERSION, ...header })}\n`);
}

/** @throws {Problem} 400 */
export function readRelayRequest(body: Buffer): RelayRequest {
  const newline = body.indexOf(10);
  const end = newline === -1 ? body.length : newline;
  const header = headerOf(parsed(body.toString('utf8', 0, end)));
  return { header, payload: body.subarray(Math.min(end + 1, body.length)) };
}

function headerOf(value: unknown): RelayHeader {
  if (!isTable(value)) throw bad('its first line is no JSON object');
  const { version, board, name, backlogBytes, lagSeconds, devices = [], compare = null } = value;
  if (version !== VERSION) throw bad(`its version is not ${VERSION}: use the same version on both sides`);
  if (typeof board !== 'string' || !/^[\w-]{8,64}$/.test(board)) throw bad('board is no id');
  if (typeof name !== 'string' || name === '' || name.length > 200) throw bad('name is no text');
  if (!isCount(backlogBytes) || !isCount(lagSeconds)) throw bad('backlogBytes or lagSeconds is no number');
  if (!Array.isArray(devices) || devices.length > MOST_DEVICES)
    throw bad(`devices is no list of at most ${MOST_DEVICES}`);
  return {
    board,
    name,
    backlogBytes,
    lagSeconds,
    devices: devices.map(deviceOf),
    compare: compare === null ? null : dayOfDevice(compare),
  };
}

/** The store checks the fields of a device, except their types here. */
function deviceOf(value: unknown): Device {
  if (!isTable(value)) throw bad('a device is no object');
  const { name, site = null, city = null, kind = null, year = null, attributes = {} } = value;
  if (typeof name !== 'string') throw bad('a device has no name');
  if (!isTextOrNull(site) || !isTextOrNull(city) || !isTextOrNull(kind)) throw bad('a device has no text');
  if (year !== null && typeof year !== 'number') throw bad('the year of a device is no number');
  if (!isTable(attributes)) throw bad('the attributes of a device are no object');
  return { name, site, city, kind, year, attributes: attributes as Device['attributes'] };
}

function dayOfDevice(value: unknown): DayOfDevice {
  if (!isTable(value)) throw bad('compare is no object');
  const { device, day, until, count, digest } = value;
  if (typeof device !== 'string' || deviceNameProblem(device) !== null) throw bad('compare has no device');
  if (!isCount(day) || !isCount(until) || day > MOST_DAY) throw bad('compare has no day');
  if (!isCount(count)) throw bad('compare has no count');
  if (typeof digest !== 'string' || !/^(?:[0-9a-f]{64})?$/.test(digest)) throw bad('compare has no digest');
  return { device, day, until, count, digest };
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** The answer of a centre. @throws {Error} when it is another server */
export function readRelayAnswer(text: string): RelayAnswer {
  const value = parsed(text);
  if (!isTable(value) || typeof value.centre !== 'string' || !isCount(value.received))
    throw new Error('the answer is not that of a centre: check RELAY');
  const { compared, beyond, refusedDevices } = value;
  return {
    centre: value.centre,
    beyond: textsOf(beyond, MOST_BEYOND),
    received: value.received,
    stored: numberOf(value.stored),
    duplicate: numberOf(value.duplicate),
    quarantined: numberOf(value.quarantined),
    refused: numberOf(value.refused),
    refusedDevices: textsOf(refusedDevices, MOST_NAMED),
    compared: isTable(compared)
      ? { isEqual: compared.isEqual === true, count: numberOf(compared.count) }
      : null,
  };
}

function textsOf(value: unknown, most: number): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  return list.filter((each): each is string => typeof each === 'string').slice(0, most);
}

function numberOf(value: unknown): number {
  return isCount(value) ? value : 0;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function bad(reason: string): Problem {
  return new Problem(400, 'Invalid relay request', `The body is not that of a relay: ${reason}.`);
}
