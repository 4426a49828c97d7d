import type { Table } from '@tidegauge/hbase-client';
import type { SeriesName, SeriesUnit } from '../contract.ts';
import { FAMILY } from './mapping.ts';
import type { Session } from './session.ts';

/**
 * Units of series, in the table of devices: a row per device with a column per metric. Its key begins with this
 * prefix, so it sorts before every device. A separate table would be one more region on a small board.
 */
const PREFIX = '\0units ';

export class HbaseUnits {
  readonly #session: Session;
  readonly #table: Table;

  constructor(session: Session) {
    this.#session = session;
    this.#table = session.table('devices');
  }

  async set(units: readonly SeriesUnit[]): Promise<void> {
    const puts = [...Map.groupBy(units, ({ device }) => device)].map(([device, given]) => ({
      type: 'put' as const,
      row: PREFIX + device,
      cells: given.map(({ metric, unit }) => ({ family: FAMILY, qualifier: metric, value: unit })),
    }));
    await this.#session.run(() => this.#table.mutateAll(puts));
  }

  of(series: readonly SeriesName[]): Promise<(string | null)[]> {
    const byDevice = [...Map.groupBy(series, ({ device }) => device)];
    const gets = byDevice.map(([device, names]) => ({
      row: PREFIX + device,
      columns: [{ family: FAMILY, qualifiers: names.map(({ metric }) => metric) }],
    }));
    return this.#session.run(async () => {
      const rows = await this.#table.getAll(gets);
      const known = new Map(byDevice.map(([device], index) => [device, rows[index]]));
      return series.map(({ device, metric }) => known.get(device)?.value(FAMILY, metric)?.toString() ?? null);
    });
  }
}
