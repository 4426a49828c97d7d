// Makes the add-on of Home Assistant: `npm run home-assistant`.
import { join, resolve } from 'node:path';
import { defineCommand, EXIT, run, text } from '@tidegauge/service/program';
import { ROOT } from '../setup.js';

export const program = defineCommand({
  name: 'npm run home-assistant',
  summary: 'Writes a folder that is a repository of add-ons for Home Assistant, with the npm package in it.',
  examples: ['npm run home-assistant', 'npm run home-assistant -- --output /tmp/add-on'],
  settings: {
    output: {
      kind: text('a directory'),
      help: 'The folder to write. Default: dist/home-assistant in the repository.',
    },
  },
  async run({ output }) {
    // The compiler of TypeScript, which it loads, is large.
    const { buildAddOn } = await import('./build-add-on.ts');
    const folder = resolve(output ?? join(ROOT, 'dist', 'home-assistant'));
    await buildAddOn(folder);
    process.stdout.write(`${folder}\n`);
    return EXIT.OK;
  },
});

if (import.meta.main) process.exitCode = await run(program);
