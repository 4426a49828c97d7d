import { crc32 } from 'node:zlib';
import { FAR_PAST, firstLevelOf, type Reading } from '@tidegauge/readings';
import { copyString } from '@tidegauge/text';
import { BOUNDS } from './memory.ts';

const SECOND_US = 1_000_000;
/** Where clocks without a battery start: Unix, FAT and GPS, and chips with a year of two digits. Microseconds. */
const EPOCHS = [0, Date.UTC(1980, 0, 1) * 1000, Date.UTC(2000, 0, 1) * 1000];
/** A time up to so long after such a start is the time since that start. */
const LONGEST_RUN_US = 365 * 86_400 * SECOND_US;
/** How long before it a clock can start that has local time of the east. */
const ZONES_US = 14 * 3600 * SECOND_US;
/** Times that have advanced in step with receipts for so long are those of a running clock, not of a history. */
const IN_STEP_US = 60 * SECOND_US;
/** The same for a clock that is known to have no battery. */
const KNOWN_IN_STEP_US = 10 * SECOND_US;
/** How far the time of a message can be from its receipt, by the clock of its start, when it is just being sent. */
const NEXT_WITHIN_US = 5 * SECOND_US;
/** What a clock counts in a second. Milliseconds and microseconds since a start have the size of seconds since 1970. */
const RATES = [1, 1e3, 1e6];
/** How much the rate of a clock can differ from that of this machine. */
const RATE_TOLERANCE = 0.1;
/** How long before its first time another start of a clock can be: a sensor does not always send at once. */
const START_MARGIN_US = 3600 * SECOND_US;

/** Memory of a clock without its name and messages, and of a message in it. */
const CLOCK_BYTES = 500;
const MESSAGE_BYTES = 220;
/** Devices of one message whose clocks are kept. It bounds the cost of a message. The others have the time of receipt. */
const DEVICES_AT_ONCE = 100;
/** Messages of a clock that are found when they are received again. */
const MESSAGES_KEPT = 1000;
/** When memory is needed, a client keeps at least so much, unless there are too many clients. */
const LEAST_CLIENT_BYTES = 4096;

/** The clock of one series. Times are microseconds since the epoch, those of the sensor by its own clock. */
interface Clock {
  /** Device and metric with a space between them. */
  readonly name: string;
  boot: string | null;
  /** What is added to the times of the sensor. 0: they are kept, and the clock is only watched. */
  shift: number;
  /** Where the clock starts. Null: not known. */
  epoch: number | null;
  /** The first message since its start, and the newest one: its newest time, and its receipt. */
  first: number;
  firstReceived: number;
  last: number;
  lastReceived: number;
  /** The shifts of recent messages, by content and by time of receipt, oldest first. */
  readonly byContent: Map<string, number>;
  readonly byReceipt: Map<number, number>;
}

interface Client {
  readonly name: string;
  readonly clocks: Map<string, Clock>;
  bytes: number;
}

/** What a clock became with a message: what `restore` needs after a restart. */
export interface ClockState {
  readonly device: string;
  readonly metric: string;
  readonly boot: string | null;
  readonly shift: number;
  readonly epoch: number | null;
  readonly first: number;
  readonly firstReceived: number;
  readonly last: number;
  readonly lastReceived: number;
  readonly contents: readonly (readonly [content: string, shift: number])[];
  readonly receipts: readonly (readonly [received: number, shift: number])[];
}

/** The readings of one device in a message. */
interface Group {
  readonly device: string;
  readonly metric: string;
  readonly boot: string | null;
  readonly received: number;
  oldest: number;
  newest: number;
}

/**
 * Gives readings of sensors whose clock was never set a time: when the sensor started, as far as it is known, and the
 * time since then. Without that, the readings after each start would replace those of the start before.
 *
 * Such a clock starts at a known date (`EPOCHS`), or it went back to where it began after it had advanced in step with
 * receipts. The first message of a start has the time of its receipt. The following ones have the same distance to it as
 * in the clock of the sensor. A clock starts again when its time goes back or does not advance, when `boot` changes, when
 * the sensor was not running yet at the last receipt, or when its times would be in the future. So the times of a series
 * only grow, and no start can replace readings of another one.
 *
 * A message that is received again is found by its content, and has the same times: when it is marked as sent again, when
 * it has a `boot`, or when the sensor has been running since the last message. Otherwise it is one of another start.
 *
 * A journal receives each change before the readings are stored. Memory is bounded in bytes. When it is full, the clients
 * with the most lose their oldest messages and clocks.
 */
export class SensorClocks {
  /** Null: changes are not kept. */
  journal: ((states: readonly ClockState[]) => void) | null = null;
  readonly #clients = new Map<string, Client>();
  #bytes = 0;
  /** The changes of the present message. */
  #changes: ClockState[] = [];

  /** Approximate bytes of memory in use; bounded. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The readings of a message that has just arrived, with times. Returns the same array when all clocks are set.
   *
   * @param isAgain whether the message may have been received before
   */
  timed(readings: readonly Reading[], payload: Uint8Array, isAgain: boolean): readonly Reading[] {
    if (!hasOld(readings)) return readings;
    const content = crc32(payload);
    let devices = 0;
    const timed = shifted(readings, (group) =>
      ++devices > DEVICES_AT_ONCE
        ? shiftAtReceipt(group)
        : this.#place(group, `${group.newest} ${content}`, isAgain),
    );
    if (this.#changes.length > 0) this.journal?.(this.#changes);
    this.#changes = [];
    return timed;
  }

  /** The readings of a message that was received and is decoded again. It changes nothing. */
  again(readings: readonly Reading[]): readonly Reading[] {
    if (!hasOld(readings)) return readings;
    return shifted(readings, (group) => {
      const known = this.#clients.get(firstLevelOf(group.device))?.clocks.get(nameOf(group));
      return known?.byReceipt.get(group.received) ?? shiftAtReceipt(group);
    });
  }

  /** The state of every clock that is not only watched. */
  *states(): Generator<ClockState> {
    for (const { clocks } of this.#clients.values()) {
      for (const [name, clock] of clocks) {
        if (clock.shift === 0) continue;
        const [device = '', metric = ''] = name.split(' ');
        yield stateOf(device, metric, clock, [...clock.byContent], [...clock.byReceipt]);
      }
    }
  }

  /** Takes a state of `states` or of the journal. */
  restore(state: ClockState): void {
    const client = this.#clientOf(state.device);
    const clock = this.#clockOf(client, state.device, state.metric);
    const { boot, shift, epoch, first, firstReceived, last, lastReceived } = state;
    Object.assign(clock, { boot, shift, epoch, first, firstReceived, last, lastReceived });
    for (const [content, each] of state.contents) this.#remember(client, clock.byContent, content, each);
    for (const [received, each] of state.receipts) this.#remember(client, clock.byReceipt, received, each);
    this.#shrink();
  }

  /** The shift of a group of readings. */
  #place(group: Group, content: string, isAgain: boolean): number {
    const client = this.#clientOf(group.device);
    const clock = this.#clockOf(client, group.device, group.metric);
    const isNew = startedAfter(clock, group) || isNext(clock, group);
    const isSame = isAgain || group.boot !== null || !isNew;
    const shift = (isSame ? clock.byContent.get(content) : undefined) ?? advance(clock, group, isAgain);
    if (shift !== 0) {
      const { device, metric, received } = group;
      this.#remember(client, clock.byContent, copyString(content), shift);
      this.#remember(client, clock.byReceipt, received, shift);
      this.#changes.push(stateOf(device, metric, clock, [[content, shift]], [[received, shift]]));
    }
    this.#shrink();
    return shift;
  }

  #clientOf(device: string): Client {
    const name = firstLevelOf(device);
    let client = this.#clients.get(name);
    if (client === undefined) client = { name: copyString(name), clocks: new Map(), bytes: 0 };
    else this.#clients.delete(name);
    // The client that was used last is the last one.
    this.#clients.set(client.name, client);
    return client;
  }

  #clockOf(client: Client, device: string, metric: string): Clock {
    const name = nameOf({ device, metric });
    let clock = client.clocks.get(name);
    if (clock === undefined) {
      clock = newClock(copyString(name));
      this.#grow(client, CLOCK_BYTES + 2 * name.length);
    } else client.clocks.delete(name);
    client.clocks.set(clock.name, clock);
    return clock;
  }

  #remember<K>(client: Client, messages: Map<K, number>, key: K, shift: number): void {
    if (messages.delete(key)) this.#grow(client, -MESSAGE_BYTES / 2);
    messages.set(key, shift);
    this.#grow(client, MESSAGE_BYTES / 2);
    this.#drop(client, messages, MESSAGES_KEPT);
  }

  /** Drops all but the newest messages. */
  #drop<K>(client: Client, messages: Map<K, number>, keep: number): void {
    for (const key of messages.keys()) {
      if (messages.size <= keep) return;
      messages.delete(key);
      this.#grow(client, -MESSAGE_BYTES / 2);
    }
  }

  #grow(client: Client, bytes: number): void {
    client.bytes += bytes;
    this.#bytes += bytes;
  }

  /**
   * Frees a quarter of the memory when it is full: the clients with the most lose theirs first, then those unused for
   * longest.
   */
  #shrink(): void {
    if (this.#bytes <= BOUNDS.sensorClocks) return;
    const target = (BOUNDS.sensorClocks * 3) / 4;
    const all = [...this.#clients.values()];
    const bytesAt = (level: number) => all.reduce((sum, { bytes }) => sum + Math.min(bytes, level), 0);
    let level = all.reduce((most, { bytes }) => Math.max(most, bytes), 0);
    while (level > LEAST_CLIENT_BYTES && bytesAt(level) > target) level *= 3 / 4;
    for (const client of all) this.#limit(client, level);
    for (const [name, { bytes }] of this.#clients) {
      if (this.#bytes <= target) break;
      this.#clients.delete(name);
      this.#bytes -= bytes;
    }
  }

  /** Drops the oldest messages of a client, and then its clocks that were unused for longest. */
  #limit(client: Client, bytes: number): void {
    for (let keep = MESSAGES_KEPT; keep >= 1 && client.bytes > bytes; keep = Math.floor(keep / 4)) {
      for (const { byContent, byReceipt } of client.clocks.values()) {
        this.#drop(client, byContent, keep);
        this.#drop(client, byReceipt, keep);
      }
    }
    for (const [name, { byContent, byReceipt }] of client.clocks) {
      if (client.bytes <= bytes) break;
      client.clocks.delete(name);
      const own = CLOCK_BYTES + 2 * name.length + ((byContent.size + byReceipt.size) * MESSAGE_BYTES) / 2;
      this.#grow(client, -own);
    }
  }
}

/**
 * The readings of a message that is only decoded, or was never stored: the newest one of a clock that was never set has
 * the time of receipt.
 */
export function timedAtReceipt(readings: readonly Reading[]): readonly Reading[] {
  return hasOld(readings) ? shifted(readings, shiftAtReceipt) : readings;
}

/** It is on the hot path of ingest: one comparison for each reading. */
function hasOld(readings: readonly Reading[]): boolean {
  for (let index = 0; index < readings.length; index++) {
    const { time, received } = readings[index]!;
    if (received - time > FAR_PAST) return true;
  }
  return false;
}

function shifted(readings: readonly Reading[], shiftOf: (group: Group) => number): readonly Reading[] {
  const groups = new Map<string, Group>();
  for (const { device, metric, boot, time, received } of readings) {
    if (received - time <= FAR_PAST) continue;
    const group = groups.get(device);
    if (group === undefined)
      groups.set(device, { device, metric, boot, received, oldest: time, newest: time });
    else {
      group.oldest = Math.min(group.oldest, time);
      group.newest = Math.max(group.newest, time);
    }
  }
  const shifts = new Map<string, number>();
  for (const [device, group] of groups) shifts.set(device, shiftOf(group));
  return readings.map((reading) => {
    const { device, metric, time, value, received, boot, seq } = reading;
    const shift = received - time > FAR_PAST ? shifts.get(device)! : 0;
    if (shift === 0) return reading;
    return { device, metric, time: time + shift, value, received, boot, seq, quality: 'unsynced' };
  });
}

function shiftAtReceipt({ newest, received }: Group): number {
  return epochOf(newest) === null ? 0 : received - newest;
}

/** The epoch of a clock, if a time can be of the same run; null otherwise. */
function epochBefore({ epoch }: Clock, time: number): number | null {
  return isAfter(epoch, time) ? epoch : null;
}

/** Takes a message that was not received before. Returns its shift. */
function advance(clock: Clock, group: Group, isAgain: boolean): number {
  const { newest, received, boot } = group;
  const isOther = isOtherStart(clock, group);
  // Its first delivery kept its time, because the clock was only watched.
  if (isAgain && isOther && clock.shift === 0 && clock.lastReceived !== 0 && epochOf(newest) === null)
    return 0;
  const isInStep = keepsStep(clock, newest, received);
  const epoch = epochOf(newest) ?? epochBefore(clock, newest);
  const wasUnset = clock.shift !== 0;
  const isUnset = epoch !== null || (wasUnset ? isInStep : isOther && hasRestarted(clock, group));
  if (!isUnset) clock.shift = 0;
  else if (!wasUnset || isOther || newest + clock.shift > received) clock.shift = received - newest;
  clock.epoch = isUnset ? (epoch ?? clock.epoch ?? clock.first - START_MARGIN_US) : null;
  if ((isOther && !isInStep) || wasUnset !== isUnset) {
    clock.first = newest;
    clock.firstReceived = received;
  }
  clock.boot = boot === null ? null : copyString(boot);
  clock.last = newest;
  clock.lastReceived = received;
  return clock.shift;
}

/** Whether a message is of another start of the sensor than the one before it. */
function isOtherStart(clock: Clock, group: Group): boolean {
  if (clock.lastReceived === 0) return true;
  // A reading that is a little older can be a correction.
  if (clock.shift === 0) return group.newest < clock.last - IN_STEP_US;
  return group.boot !== clock.boot || group.oldest <= clock.last || startedAfter(clock, group);
}

/** Whether the sensor was not running yet at the last receipt, by the time since its start. */
function startedAfter({ lastReceived }: Clock, { newest, received }: Group): boolean {
  const epoch = epochOf(newest);
  return epoch !== null && newest >= epoch && received - (newest - epoch) > lastReceived;
}

/** Whether a message has the time that the clock has now, so that it is no message of an earlier start. */
function isNext({ shift, last }: Clock, { oldest, newest, received }: Group): boolean {
  return shift !== 0 && oldest > last && Math.abs(received - (newest + shift)) <= NEXT_WITHIN_US;
}

/** The start of a clock without a battery that can have this time; null when it is a date. */
function epochOf(time: number): number | null {
  return EPOCHS.find((epoch) => isAfter(epoch, time + ZONES_US)) ?? null;
}

function isAfter(epoch: number | null, time: number): boolean {
  return epoch !== null && time >= epoch && time - epoch < LONGEST_RUN_US;
}

/**
 * Whether a watched clock went back to its start, after it advanced in step with receipts. Data of the past that is sent
 * now does not advance so.
 */
function hasRestarted(
  { first, firstReceived, last, lastReceived }: Clock,
  { newest, received }: Group,
): boolean {
  const passed = lastReceived - firstReceived;
  const isStart = newest >= first - START_MARGIN_US && newest - first <= received - lastReceived + IN_STEP_US;
  return isStart && passed >= IN_STEP_US && isRate(1, last - first, passed);
}

/** Whether a clock without a battery has counted since its first message. */
function keepsStep({ first, firstReceived }: Clock, time: number, received: number): boolean {
  const passed = received - firstReceived;
  return passed >= KNOWN_IN_STEP_US && RATES.some((rate) => isRate(rate, time - first, passed));
}

function isRate(rate: number, advanced: number, passed: number): boolean {
  return Math.abs(advanced - rate * passed) <= RATE_TOLERANCE * rate * passed;
}

function newClock(name: string): Clock {
  const times = { first: 0, firstReceived: 0, last: 0, lastReceived: 0 };
  return { name, boot: null, shift: 0, epoch: null, ...times, byContent: new Map(), byReceipt: new Map() };
}

/** Names have no spaces. */
function nameOf({ device, metric }: Pick<Reading, 'device' | 'metric'>): string {
  return `${device} ${metric}`;
}

function stateOf(
  device: string,
  metric: string,
  { boot, shift, epoch, first, firstReceived, last, lastReceived }: Clock,
  contents: ClockState['contents'],
  receipts: ClockState['receipts'],
): ClockState {
  const clock = { boot, shift, epoch, first, firstReceived, last, lastReceived };
  return { device, metric, ...clock, contents, receipts };
}
