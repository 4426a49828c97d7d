import type { BackendReadings, NumbersQuery } from '../backend.ts';

/** Passes the numeric readings of a series in [from, to) to `add`, in any order. Resolves to how many were read. */
export async function eachNumber(
  raw: Pick<BackendReadings, 'range' | 'numbers'>,
  { device, metric, from, to }: NumbersQuery,
  add: (time: number, value: number) => void,
): Promise<number> {
  let read = 0;
  if (raw.numbers !== undefined) {
    for await (const { times, values } of raw.numbers({ device, metric, from, to })) {
      read += times.length;
      for (let index = 0; index < times.length; index += 1) add(times[index]!, values[index]!);
    }
    return read;
  }
  const query = { device, metric, from, to, order: 'asc', limit: Number.MAX_SAFE_INTEGER } as const;
  for await (const { time, value } of raw.range(query)) {
    read += 1;
    if (typeof value === 'number') add(time, value);
  }
  return read;
}
