// Makes Debian packages: `npm run debian`, then `sudo apt install ./dist/debian/tidegauge_….deb`.
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { defineCommand, EXIT, oneOf, repeated, run, text } from '@tidegauge/service/program';
import { ROOT } from '../setup.js';
import { ARCHITECTURES } from './node-program.ts';

export const program = defineCommand({
  name: 'npm run debian',
  summary: 'Makes Debian packages with Node and systemd services. It needs dpkg-deb, and no root.',
  details:
    'Files have the time of SOURCE_DATE_EPOCH, or of the last commit: the same commit gives the same bytes.',
  examples: ['npm run debian', 'npm run debian -- arm64 amd64 --output /tmp'],
  settings: {
    architectures: {
      kind: repeated(oneOf(ARCHITECTURES)),
      positional: true,
      help: 'What to make packages for. Default: both.',
    },
    output: {
      kind: text('a directory'),
      help: 'Where to write the packages. Default: dist/debian in the repository.',
    },
  },
  async run({ architectures, output }) {
    // The compiler of TypeScript, which it loads, is large.
    const { buildDebian } = await import('./build-debian.ts');
    const out = resolve(output ?? join(ROOT, 'dist', 'debian'));
    mkdirSync(out, { recursive: true });
    for (const architecture of architectures ?? ARCHITECTURES) {
      const { file, bytes } = await buildDebian({ architecture, out });
      process.stdout.write(`${file}: ${(bytes / 1e6).toFixed(1)} MB\n`);
    }
    return EXIT.OK;
  },
});

if (import.meta.main) process.exitCode = await run(program);
