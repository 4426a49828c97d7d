// Makes the npm package: `npm run package`, then `npm pack ./dist/npm`.
import { join, resolve } from 'node:path';
import { defineCommand, EXIT, run, text } from '@tidegauge/service/program';
import { ROOT } from '../setup.js';

export const program = defineCommand({
  name: 'npm run package',
  summary:
    'Writes the npm package tidegauge: JavaScript, with all npm packages that it needs except drivers.',
  examples: ['npm run package', 'npm run package -- --output /tmp/tidegauge && npm pack /tmp/tidegauge'],
  settings: {
    output: {
      kind: text('a directory'),
      help: 'The folder to write. An earlier package there is replaced. Default: dist/npm in the repository.',
    },
  },
  async run({ output }) {
    // The compiler of TypeScript, which it loads, is large.
    const { buildPackage } = await import('./build-package.ts');
    const folder = resolve(output ?? join(ROOT, 'dist', 'npm'));
    const { files, bytes } = await buildPackage(folder);
    process.stdout.write(`${folder}: ${files} files, ${(bytes / 1e6).toFixed(1)} MB\n`);
    return EXIT.OK;
  },
});

if (import.meta.main) process.exitCode = await run(program);
