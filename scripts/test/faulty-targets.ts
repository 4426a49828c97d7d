import type { FuzzTarget } from '../fuzz/fuzz-target.ts';

// Targets with known faults, and one without. A module for `runTarget`.

const target = (name: string, fault: (input: Buffer) => void): FuzzTarget => ({
  name,
  corpus: [Buffer.from('{"v":1}')],
  tokens: [],
  run: (input) => {
    fault(input);
    return String(input.length);
  },
});

const leaked: string[][] = [];
let paused = false;

export const fuzzTargets: readonly FuzzTarget[] = [
  target('sound', () => {}),
  target('throws', (input) => {
    if (input.includes('}}')) throw new RangeError('two braces');
  }),
  target('hangs', (input) => {
    while (input.length === 9);
  }),
  target('waits', (input) => {
    if (input.length === 9) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  }),
  target('pauses', () => {
    if (!paused) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
    paused = true;
  }),
  target('leaks', (input) => {
    leaked.push(Array(1000).fill(input.toString()));
  }),
];
