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

export const fuzzTargets: readonly FuzzTarget[] = [
  target('sound', () => {}),
  target('throws', (input) => {
    if (input.includes('}}')) throw new RangeError('two braces');
  }),
  target('hangs', (input) => {
    while (input.length === 9);
  }),
  target('leaks', (input) => {
    leaked.push(Array(1000).fill(input.toString()));
  }),
];
