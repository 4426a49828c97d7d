import type { Reading } from '@tidegauge/readings';
import { MongoBulkWriteError, MongoClient } from 'mongodb';
import { type Bare, QUALITIES, seriesOf, sorted } from './bare.ts';

const DUPLICATE_KEY = 11_000;

interface Row {
  readonly _id: string;
  readonly v: Reading['value'];
  readonly r: number;
  readonly b: string | null;
  readonly n: number | null;
  readonly q: number;
}

export async function open(url: string): Promise<Bare> {
  const client = await MongoClient.connect(url);
  const db = client.db();
  const rows = db.collection<Row>('bare_readings');
  return {
    write: (batch) =>
      rows.insertMany(sorted(batch).map(toRow), { ordered: false }).catch((error: unknown) => {
        // A repeated write finds its documents. They stay unchanged.
        if (!(error instanceof MongoBulkWriteError) || error.code !== DUPLICATE_KEY) throw error;
      }),
    readRecord: (table, key) => db.collection<{ _id: string }>(table).findOne({ _id: key }),
    close: () => client.close(),
  };
}

function toRow(reading: Reading): Row {
  const { time, value, received, boot, seq, quality } = reading;
  return {
    _id: `${seriesOf(reading)} ${time}`,
    v: value,
    r: received,
    b: boot,
    n: seq,
    q: QUALITIES.indexOf(quality),
  };
}
