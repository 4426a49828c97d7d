import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defineCommand, EXIT, run } from '@tidegauge/service/program';
import { generated } from './generated.ts';

const ROOT = dirname(import.meta.dirname);

export const program = defineCommand({
  name: 'npm run dashboards',
  summary: 'Writes the Prometheus rules, their tests and the Grafana dashboards from their code.',
  settings: {},
  run() {
    for (const [name, text] of generated()) {
      const file = join(ROOT, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    return EXIT.OK;
  },
});

if (import.meta.main) process.exitCode = await run(program);
