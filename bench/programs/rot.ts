import { join } from 'node:path';
import { number } from '@tidegauge/copy';
import { textTable } from '@tidegauge/loadtests/results/table';
import { runProgram } from '@tidegauge/process';
import { defineConfig, integer, run } from '@tidegauge/service/program';
import type { RotTally } from '@tidegauge/test-support/rot';
import { NODE, NODE_FLAGS, ROOT } from '../../scripts/setup.js';
import { BENCH_SETTINGS, defineBench } from '../src/define-bench.ts';

const { quick, json, seed } = BENCH_SETTINGS;
const settings = defineConfig({
  changes: { kind: integer(1, 1_000_000), help: 'Changes of each kind of file. Default: 1,000.' },
  seed,
  quick,
  json,
});

/** The programs that use the files. */
const SUBJECTS = ['services/ingest/test/rot/main.ts', 'services/backup/test/rot/main.ts'];
const LIMIT_MS = 3_600_000;
/** SQLite finds a damaged structure, and has no checksum of a row or of a name. */
const UNPROTECTED = /^SQLite store/;

export const program = defineBench({
  name: 'rot',
  summary: 'What random changes of files become: bits, bytes, pages, cuts, exchanged and old pages.',
  details:
    'Each change is made in a sound file, which the real code then reads as after a start. It fails if a file with checksums\n' +
    'delivered what was never written.',
  settings,
  check: ({ changes, quick, seed }) => ({ changes: changes ?? (quick ? 30 : 1000), seed }),
  async run(_config, { changes, seed }) {
    const tallies: RotTally[] = [];
    for (const file of SUBJECTS) {
      const args = [...NODE_FLAGS, join(ROOT, file), '--changes', String(changes), '--seed', String(seed)];
      const { stdout } = await runProgram(NODE, args, { what: file, timeoutMs: LIMIT_MS });
      tallies.push(...(JSON.parse(stdout) as RotTally[]));
    }
    process.stdout.write(
      textTable([
        ['file', 'changes', 'found', 'harmless', 'older', 'wrong', 'found by check'],
        ...tallies.map(({ name, found, harmless, older, wrong, foundByCheck }) => [
          name,
          ...[changes, found, harmless, sumOf(older), sumOf(wrong), foundByCheck].map(number),
        ]),
      ]),
    );
    const failed = tallies.filter(({ name, wrong }) => !UNPROTECTED.test(name) && sumOf(wrong) > 0);
    const names = failed.map(({ name }) => name).join(', ');
    return {
      changes,
      seed,
      tallies,
      ...(names === '' ? {} : { failure: `wrong without a report: ${names}` }),
    };
  },
});

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

if (import.meta.main) process.exitCode = await run(program);
