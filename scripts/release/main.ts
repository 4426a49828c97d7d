// Builds a release: `npm run release`. CONTRIBUTING.md has all steps.
import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { runProgram } from '@tidegauge/process';
import { ConfigError, defineCommand, EXIT, inputFile, run, text } from '@tidegauge/service/program';
import { ROOT } from '../setup.js';

export const program = defineCommand({
  name: 'npm run release',
  summary: 'Builds the files of a release, with checksums, a bill of materials and a signature.',
  details:
    'It needs dpkg-deb, and no root. The same commit, Node and npm give the same bytes. Without --key nothing is signed, and the clone may have changes: a rehearsal.',
  examples: ['npm run release', 'npm run release -- --key ~/.ssh/release.pub'],
  settings: {
    key: {
      kind: inputFile(),
      help: 'The public key that signs the checksums. The private one is beside it, without .pub, or in ssh-agent.',
    },
    output: {
      kind: text('a directory'),
      help: 'The folder to write. An earlier release there is replaced. Default: dist/release in the repository.',
    },
  },
  async run({ key, output }) {
    // The compiler of TypeScript, which it loads, is large.
    const { buildRelease, SUMS } = await import('./build-release.ts');
    const { requireSigner, sign } = await import('./sign.ts');
    const out = resolve(output ?? join(ROOT, 'dist', 'release'));
    if (key !== null) {
      requireSigner(key);
      const { stdout } = await runProgram('git', ['status', '--porcelain'], { cwd: ROOT });
      if (stdout !== '')
        throw new ConfigError(['what is signed is a commit, and this clone has changes: commit them first']);
    }
    await buildRelease({ out });
    if (key !== null) await sign(join(out, SUMS), key);
    for (const name of readdirSync(out))
      process.stdout.write(`${join(out, name)}: ${(statSync(join(out, name)).size / 1e6).toFixed(1)} MB\n`);
    return EXIT.OK;
  },
});

if (import.meta.main) process.exitCode = await run(program);
