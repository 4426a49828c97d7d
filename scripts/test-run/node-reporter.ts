// A reporter for `node --test`. It writes one JSON object per test and line, for the runner to read.
import { inspect } from 'node:util';
import type { TestRecord } from './records.ts';

/** Why a test failed. */
export interface TestError extends Error {
  readonly failureType?: string;
}

interface Event {
  readonly type: string;
  readonly data: {
    readonly name?: string;
    readonly file?: string;
    readonly skip?: string | boolean;
    readonly details?: {
      readonly duration_ms: number;
      readonly type?: string;
      readonly error?: TestError;
    };
  };
}

export default async function* report(events: AsyncIterable<Event>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if ((type !== 'test:pass' && type !== 'test:fail') || data.details === undefined) continue;
    const { duration_ms: ms, type: kind, error } = data.details;
    // A suite that passed has no record, because its tests have records. A suite whose hook failed has one, because its
    // tests have none.
    if (kind === 'suite' && type === 'test:pass' && data.skip === undefined) continue;
    if (error?.failureType === 'subtestsFailed') continue;
    const record: TestRecord = {
      name: data.name ?? '',
      file: data.file ?? null,
      ms,
      ...resultOf(type, data),
    };
    yield `${JSON.stringify(record)}\n`;
  }
}

function resultOf(type: string, { skip, details }: Event['data']): Pick<TestRecord, 'outcome' | 'reason'> {
  if (type === 'test:fail')
    return { outcome: 'failed', reason: inspect(details?.error?.cause ?? details?.error) };
  if (skip === undefined) return { outcome: 'passed', reason: null };
  return { outcome: 'skipped', reason: typeof skip === 'string' ? skip : null };
}
