import { type Condition, type Filter, filters, type Table } from '@tidegauge/hbase-client';
import { forEach } from '@tidegauge/parallel';
import { type Device, unknownDevice } from '@tidegauge/readings';
import type { DeviceFilter, DevicePatch, DeviceQuery, DeviceStore } from '../contract.ts';
import { DEVICE_MARK, FAMILY, fromFilter, fromPatch, toDevice } from './mapping.ts';
import type { Session } from './session.ts';

const WIDTH = 32;
const MAX_ATTEMPTS = 20;
/** Before the first name and after the row of the schema. */
const FIRST = '\x01';

const IS_ABSENT: Condition = { family: FAMILY, qualifier: DEVICE_MARK, value: null };
const IS_THERE: Condition = { ...IS_ABSENT, comparison: 'notEqual' };

/** A row per device, in the order of names. The server makes all checks whether a device exists. */
export class HbaseDevices implements DeviceStore {
  readonly #session: Session;
  readonly #table: Table;

  constructor(session: Session) {
    this.#session = session;
    this.#table = session.table('devices');
  }

  get(name: string): Promise<Device | null> {
    return this.#session.run(async () => {
      const row = await this.#table.get(name);
      return row === null ? null : toDevice(row);
    });
  }

  put(device: Device): Promise<boolean> {
    const { name, ...fields } = device;
    return this.#session.run(async () => {
      // Between the two writes, another process can create or delete the device.
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        if (await this.#putIf(name, IS_ABSENT, fields)) return true;
        if (await this.#putIf(name, IS_THERE, fields)) return false;
      }
      throw new Error(`device ${name} is created and deleted too often by other processes`);
    });
  }

  async register(names: readonly string[]): Promise<void> {
    const all = [...new Set(names)];
    await this.#session.run(async () => {
      const columns = [{ family: FAMILY, qualifiers: [DEVICE_MARK] }];
      const known = await this.#table.getAll(all.map((row) => ({ row, columns })));
      await forEach(
        all.filter((_, index) => known[index] === null),
        WIDTH,
        (name) => {
          const { name: _, ...fields } = unknownDevice(name);
          return this.#putIf(name, IS_ABSENT, fields);
        },
      );
    });
  }

  async patch(name: string, patch: DevicePatch): Promise<Device | null> {
    const isThere = await this.#session.run(() => this.#patchOne(name, patch));
    return isThere ? this.get(name) : null;
  }

  patchWhere(filter: DeviceFilter, patch: DevicePatch): Promise<number> {
    return this.#session.run(async () => {
      const names: string[] = [];
      for await (const { name } of this.#scan(filter, '', Infinity)) names.push(name);
      let matched = 0;
      await forEach(names, WIDTH, async (name) => {
        if (await this.#patchOne(name, patch)) matched += 1;
      });
      return matched;
    });
  }

  delete(name: string): Promise<boolean> {
    return this.#session.run(async () => {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        const row = await this.#table.get(name);
        const mark = row?.value(FAMILY, DEVICE_MARK);
        if (row == null || mark === undefined) return false;
        // The delete has the timestamp of the cells that were read. A delete with the present time could remove a
        // device that was put in the same millisecond.
        const timestamp = Math.max(...row.cells.map((cell) => cell.timestamp));
        const unchanged = { ...IS_ABSENT, value: mark };
        if (await this.#table.checkAndMutate(name, unchanged, { type: 'delete', timestamp })) return true;
      }
      throw new Error(`device ${name} is changed too often by other processes`);
    });
  }

  list(query: DeviceQuery): Promise<Device[]> {
    return this.#session.run(async () => {
      const devices: Device[] = [];
      for await (const device of this.#scan(query, query.after ?? '', query.limit)) devices.push(device);
      return devices;
    });
  }

  /** Matching devices after a name, by name. The servers filter them. */
  async *#scan(filter: DeviceFilter, after: string, limit: number): AsyncGenerator<Device> {
    const range = after === '' ? { start: FIRST } : { start: after, includeStart: false };
    const given = fromFilter(filter).map(([column, value]): Filter => {
      return filters.columnValue(FAMILY, column, 'equal', value);
    });
    const isDevice = filters.columnValue(FAMILY, DEVICE_MARK, 'notEqual', '');
    for await (const row of this.#table.scan({ ...range, limit, filter: filters.all(isDevice, ...given) })) {
      const device = toDevice(row);
      if (device !== null) yield device;
    }
  }

  #patchOne(name: string, patch: DevicePatch): Promise<boolean> {
    if (fromPatch(patch).length > 0) return this.#putIf(name, IS_THERE, patch);
    return this.#table.exists(name, { columns: [{ family: FAMILY, qualifiers: [DEVICE_MARK] }] });
  }

  #putIf(name: string, condition: Condition, fields: DevicePatch): Promise<boolean> {
    return this.#table.checkAndMutate(name, condition, { type: 'put', cells: fromPatch(fields) });
  }
}
