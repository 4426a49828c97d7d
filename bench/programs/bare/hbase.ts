import { HBaseClient } from '@tidegauge/hbase-client';
import type { Reading } from '@tidegauge/readings';
import { parseUrl } from '@tidegauge/storage';
import { type Bare, QUALITIES, seriesOf } from './bare.ts';

const REGIONS = 16;
const FAMILY = Buffer.from('d');
const QUALIFIER = Buffer.from('r');

export async function open(url: string): Promise<Bare> {
  const { hosts, path } = parseUrl(url);
  const client = new HBaseClient({ zookeeper: hosts.map(({ host, port }) => `${host}:${port}`) });
  const name = `${path}:bare_readings`;
  const splitKeys = Array.from({ length: REGIONS - 1 }, (_, index) => Buffer.from([index + 1]));
  const family = { bloomFilter: 'NONE', blockEncoding: 'ROW_INDEX_V1', compression: 'GZ' } as const;
  await client.admin.createTable(name, { families: { [FAMILY.toString()]: family }, splitKeys });
  const table = client.table(name);
  return {
    write: (batch) =>
      table.mutateAll(
        batch.map((reading) => {
          const cell = { family: FAMILY, qualifier: QUALIFIER, value: bytesOf(reading) };
          return { type: 'put', row: keyOf(reading), cells: [cell] };
        }),
      ),
    readRecord: (records, key) => client.table(`${path}:${records}`).get(key),
    close: async () => client.close(),
  };
}

/** The row key: the number of the series, spread over the regions by its last bits, and the time. */
function keyOf(reading: Reading): Buffer {
  const series = seriesOf(reading);
  const key = Buffer.allocUnsafe(1 + 4 + 8);
  key.writeUInt8(series % REGIONS);
  key.writeUInt32BE(series, 1);
  key.writeBigUInt64BE(BigInt(reading.time), 5);
  return key;
}

function bytesOf({ value, received, boot, seq, quality }: Reading): Buffer {
  const bytes = Buffer.allocUnsafe(8 + 8 + 8 + 1 + Buffer.byteLength(boot!));
  bytes.writeDoubleBE(value as number, 0);
  bytes.writeDoubleBE(received, 8);
  bytes.writeDoubleBE(seq!, 16);
  bytes.writeUInt8(QUALITIES.indexOf(quality), 24);
  bytes.write(boot!, 25);
  return bytes;
}
