import { DatabaseSync, type StatementSync } from 'node:sqlite';
import {
  cleanName,
  compileMapping,
  type Decode,
  type DecodeContext,
  DecodeError,
  type Device,
  deviceNameProblem,
  MAX_UNIT_LENGTH,
  type PresetRoute,
  parseTime,
  presets,
  type Reading,
  unitProblem,
  unknownDevice,
  writtenUnit,
} from '@tidegauge/readings';
import { asHistory, type ImportSource, type SourceReading, type Step } from '../import-source.ts';
import type { Tally } from '../tally.ts';
import { fileName } from '../text-reader.ts';
import { type Columns, readSchema } from './home-assistant-schema.ts';

/** Rows of one step. */
const PAGE_ROWS = 5000;
/** States without a value, of every entity: homeassistant/const.py. */
const NO_STATE = new Set(['unavailable', 'unknown', '']);
const STATISTICS = ['mean', 'min', 'max', 'state', 'sum'] as const;
/** Entities and units that are kept in memory. */
const MOST_ENTITIES = 20_000;
const MOST_UNITS = 10_000;
/** Length of a description of a device, UTF-16 code units. */
const MOST_TEXT = 200;

interface Position {
  readonly table: 'states' | 'statistics';
  readonly id: number;
}

/** An entity, and how its states become readings. */
interface Entity {
  readonly device: string;
  /** Why it cannot be stored; null when it can. */
  readonly problem: string | null;
  readonly decode: Decode;
  readonly context: Omit<DecodeContext, 'received'>;
  /** The unit of its newest state; null without one. */
  readonly unit: string | null;
  readonly description: Device;
}

interface StateRow {
  readonly id: number;
  readonly entity: string | null;
  readonly state: string | null;
  readonly time: number | string | null;
  readonly attributesId: number | null;
  readonly attributes: string | null;
}

interface StatisticRow extends Readonly<Record<(typeof STATISTICS)[number], number | null>> {
  readonly id: number;
  readonly statistic: string | null;
  readonly source: string | null;
  readonly unit: string | null;
  readonly name: string | null;
  readonly time: number | string | null;
}

/**
 * The SQLite file of Home Assistant's recorder, schema 23 and later, which may be in use. A state has the names
 * and the value that the preset `home-assistant` gives it when it arrives by MQTT. Statistics are the metrics `hour.mean`,
 * `hour.min` and so on, at the start of their hour.
 *
 * @throws {Error} when the file is no such database
 */
export function homeAssistantFile(path: string, received: number): ImportSource {
  let database: DatabaseSync | null = null;
  try {
    database = new DatabaseSync(path, { readOnly: true });
    const columns = readSchema(database);
    const recorder = new Recorder(database, columns, received);
    return {
      name: fileName('home-assistant', path),
      version: columns.version,
      steps: (position, tally) => recorder.steps(position as Position | null, tally),
      devices: () => recorder.devices(),
      close: () => database?.close(),
    };
  } catch (error) {
    database?.close();
    throw new Error(`${path} cannot be read as Home Assistant's database: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

class Recorder {
  readonly #database: DatabaseSync;
  readonly #columns: Columns;
  readonly #received: number;
  readonly #entities = new Map<string, Entity>();
  /** Units by the id of attributes, because many states share them. */
  readonly #units = new Map<number, string | null>();
  readonly #newest: StatementSync;

  constructor(database: DatabaseSync, columns: Columns, received: number) {
    this.#database = database;
    this.#columns = columns;
    this.#received = received;
    this.#newest = database.prepare(columns.newest);
  }

  async *steps(position: Position | null, tally: Tally): AsyncGenerator<Step> {
    if (position === null) this.#countOthers(tally);
    const after = position?.table === 'states' ? position.id : null;
    if (after === null) yield* this.#pages('statistics', position?.id ?? 0, tally);
    yield* this.#pages('states', after ?? 0, tally);
  }

  /** Those of all entities of the file, because an earlier run may have read some of them. */
  *devices(): Generator<Device> {
    for (const { name } of this.#database.prepare(this.#columns.entities).iterate()) {
      const { description, problem } = this.#entity(String(name));
      if (problem === null) yield description;
    }
    for (const row of this.#database.prepare(this.#columns.externals).iterate()) {
      const { description, problem } = this.#external(row as unknown as StatisticRow, String(row.statistic));
      if (problem === null) yield description;
    }
  }

  *#pages(table: Position['table'], from: number, tally: Tally): Generator<Step> {
    const page = this.#database.prepare(this.#columns[table]);
    const ids = { statistics: this.#lastId('statistics'), states: this.#lastId('states') };
    const before = table === 'states' ? ids.statistics : 0;
    for (let id = from; ; ) {
      const rows = page.all(id, PAGE_ROWS);
      if (rows.length === 0) return;
      const readings: SourceReading[] = [];
      for (const row of rows) {
        if (table === 'states') this.#readState(row as unknown as StateRow, readings, tally);
        else this.#readStatistic(row as unknown as StatisticRow, readings, tally);
      }
      id = Number(rows.at(-1)!.id);
      const share = Math.min(1, (before + id) / (ids.statistics + ids.states));
      yield { readings, position: { table, id }, share };
    }
  }

  #lastId(table: Position['table']): number {
    return Number(this.#database.prepare(this.#columns.last[table]).get()?.id ?? 0);
  }

  #readState(row: StateRow, into: SourceReading[], tally: Tally): void {
    const { entity: name, state } = row;
    if (name === null) {
      tally.add('refused', 'the state has no entity', `state_id ${row.id}`);
      return;
    }
    if (state === null || NO_STATE.has(state)) {
      tally.add(
        'skipped',
        state === null || state === '' ? 'the entity was removed' : `the state is ${state}`,
        name,
      );
      return;
    }
    const entity = this.#entity(name);
    const time = this.#timeOf(row.time, name, tally);
    if (time === null) return;
    if (entity.problem !== null) {
      tally.add('refused', 'the name of the entity cannot be stored', `${name}: ${entity.problem}`);
      return;
    }
    const whys: string[] = [];
    const notes = { unit: () => {}, ignored: (_: string, why: string) => void whys.push(why) };
    const decoded = entity.decode(Buffer.from(state), { ...entity.context, received: time, notes });
    if (decoded instanceof DecodeError) {
      tally.add(
        'refused',
        'the state is neither a number nor a text that is certain',
        `${name}: ${decoded.message}`,
      );
      return;
    }
    const outcome = decoded.length === 0 ? 'skipped' : 'noted';
    if (decoded.length === 0 && whys.length === 0) whys.push('the state has no value');
    for (const why of whys) tally.add(outcome, `the state: ${why}`, `${name}: ${state}`);
    const unit = this.#unitOf(row);
    for (const reading of decoded)
      into.push({ reading: renamed(asHistory(reading), unit, entity.unit), unit });
  }

  #readStatistic(row: StatisticRow, into: SourceReading[], tally: Tally): void {
    const { statistic: name } = row;
    if (name === null) {
      tally.add('refused', 'the statistic has no description', `id ${row.id}`);
      return;
    }
    // Statistics of other programs have names such as energy:total, which are no entities.
    const entity = row.source === 'recorder' ? this.#entity(name) : this.#external(row, name);
    const time = this.#timeOf(row.time, name, tally);
    if (time === null) return;
    if (entity.problem !== null) {
      tally.add('refused', 'the name of the statistic cannot be stored', `${name}: ${entity.problem}`);
      return;
    }
    const unit = unitIn(row.unit);
    for (const kind of STATISTICS) {
      const value = row[kind];
      if (value === null || value === undefined) continue;
      if (!Number.isFinite(value)) {
        tally.add('skipped', 'the value is not finite', `${name} ${kind}`);
        continue;
      }
      const reading: Reading = {
        device: entity.device,
        metric: `hour.${kind}`,
        time,
        value,
        received: time,
        boot: null,
        seq: null,
        quality: 'ok',
      };
      into.push({ reading, unit });
    }
  }

  /** Microseconds; null when a row has no plausible time, which is counted. */
  #timeOf(time: number | string | null, name: string, tally: Tally): number | null {
    const found = typeof time === 'number' ? Math.round(time * 1e6) : parseTime(time);
    if (found === null || !(found >= 0)) {
      tally.add('refused', 'the time cannot be read', `${name}: ${time}`);
      return null;
    }
    if (found <= this.#received + DAY_US) return found;
    tally.add(
      'refused',
      'the time is more than a day ahead of the clock of this machine',
      `${name}: ${time}`,
    );
    return null;
  }

  #entity(name: string): Entity {
    let entity = this.#entities.get(name);
    if (entity === undefined) {
      entity = entityOf(name, (this.#newest.get(name)?.attributes ?? null) as string | null);
      this.#remember(name, entity);
    }
    return entity;
  }

  #remember(name: string, entity: Entity): void {
    if (this.#entities.size >= MOST_ENTITIES) this.#entities.clear();
    this.#entities.set(name, entity);
  }

  #external({ name, unit }: StatisticRow, statistic: string): Entity {
    let entity = this.#entities.get(statistic);
    if (entity === undefined) {
      entity = entityOf(statistic, JSON.stringify({ friendly_name: name, unit_of_measurement: unit }));
      this.#remember(statistic, entity);
    }
    return entity;
  }

  #unitOf({ attributesId, attributes }: StateRow): string | null {
    if (attributesId === null) return unitIn(parsed(attributes).unit_of_measurement);
    let unit = this.#units.get(attributesId);
    if (unit === undefined) {
      unit = unitIn(parsed(attributes).unit_of_measurement);
      if (this.#units.size >= MOST_UNITS) this.#units.clear();
      this.#units.set(attributesId, unit);
    }
    return unit;
  }

  /** What the file has besides states and statistics per hour. */
  #countOthers(tally: Tally): void {
    for (const { why, query } of this.#columns.others) {
      for (const { name, count } of this.#database.prepare(query).all())
        tally.add('skipped', why, name === null ? null : String(name), Number(count));
    }
  }
}

const DAY_US = 86_400_000_000;

/** `sensor.outside` is the device `sensor/outside`, and a statistic `energy:total` the device `energy:total`. */
function entityOf(name: string, attributes: string | null): Entity {
  const dot = name.indexOf('.');
  const [domain, id] = dot === -1 ? ['', name] : [name.slice(0, dot), name.slice(dot + 1)];
  const device = dot === -1 ? cleanName(name) : `${cleanName(domain)}/${cleanName(id)}`;
  const known = parsed(attributes);
  const text = (key: string) => {
    const value = known[key];
    return typeof value === 'string' && value !== '' && value.length <= MOST_TEXT ? value : null;
  };
  const friendlyName = text('friendly_name');
  return {
    device,
    problem: deviceNameProblem(device),
    decode: decoderOf(domain),
    context: { device, metric: 'state', full: `${device}/state`, captured: { entity: cleanName(id) } },
    unit: unitIn(known.unit_of_measurement),
    description: {
      ...unknownDevice(device),
      kind: text('device_class'),
      attributes: friendlyName === null ? {} : { friendly_name: friendlyName },
    },
  };
}

const DECODERS = new Map<PresetRoute, Decode>();

/** The decoder of the preset for the states of a domain. */
function decoderOf(domain: string): Decode {
  const { routes } = presets['home-assistant']!;
  const route = routes.find(({ topic }) => topic === `${domain}/{entity}/state`) ?? routes.at(-1)!;
  let decode = DECODERS.get(route);
  if (decode === undefined) {
    decode = compileMapping(route.mapping === 'ignore' ? {} : route.mapping);
    DECODERS.set(route, decode);
  }
  return decode;
}

/** A state in another unit than the newest one has its own metric, because a series has one unit. */
function renamed(reading: Reading, unit: string | null, newest: string | null): Reading {
  if (unit === null || newest === null || unit === newest) return reading;
  return { ...reading, metric: `${reading.metric}.${cleanName(unit)}` };
}

function unitIn(unit: unknown): string | null {
  if (typeof unit !== 'string' || unit.length > MAX_UNIT_LENGTH || unitProblem(unit) !== null) return null;
  return writtenUnit(unit);
}

function parsed(attributes: string | null): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(attributes ?? '{}');
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
