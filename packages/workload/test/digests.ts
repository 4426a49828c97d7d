import {
  initialRecords,
  operations,
  parseWorkload,
  scrambledZipfian,
  seeded,
  zipfian,
} from '../src/index.ts';

export const WORKLOADS = [...'abcdefgi'];
const OPERATIONS = 1500;
const DRAWS = 30_000;

/** A digest of each stream. It changes when anything in the stream changes. Node and k6 compute it in the same way. */
export function digests(read: (name: string) => string): Record<string, number> {
  const found: Record<string, number> = {};
  for (const name of WORKLOADS) {
    const workload = parseWorkload(read(name), { file: name, overrides: { recordcount: '1000000' } });
    const stream = operations(workload, { seed: 5, thread: 1, threads: 3 });
    const record = initialRecords(workload, 5);
    let digest = 0;
    for (let index = 0; index < OPERATIONS; index += 1) digest = add(digest, JSON.stringify(stream.next()));
    for (let number = 0; number < 20; number += 1) digest = add(digest, JSON.stringify(record(number)));
    found[name] = digest;
  }
  for (const [name, make] of Object.entries({ scrambledZipfian, zipfian })) {
    const next = make(seeded(5), 0, 999_999_999);
    let digest = 0;
    for (let draw = 0; draw < DRAWS; draw += 1) digest = (Math.imul(digest, 31) + next()) | 0;
    found[name] = digest;
  }
  return found;
}

/** Adds every seventh character of a text to a digest, because k6 is slow with characters. */
function add(digest: number, text: string): number {
  let result = (Math.imul(digest, 31) + text.length) | 0;
  for (let index = 0; index < text.length; index += 7) {
    result = (Math.imul(result, 31) + text.charCodeAt(index)) | 0;
  }
  return result;
}
