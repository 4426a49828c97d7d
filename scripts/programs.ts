import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Program } from '@tidegauge/service/program';
import { ROOT } from './setup.js';

/** An npm script that runs a TypeScript program. */
export interface NpmProgram {
  /** The npm script: `bench:ingest`. */
  readonly script: string;
  /** The program's file, from the root. */
  readonly file: string;
  readonly program: Program;
}

/** Test runners, fuzzing and checks of the source and its packages. They read their arguments themselves. */
const OTHERS = /^scripts\/(test|words|fuzz\/main|supply-chain\/\w+-main)\.ts/;

/** The npm scripts that run a program of this repository, in the order of package.json. */
export async function npmPrograms(): Promise<readonly NpmProgram[]> {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const found: NpmProgram[] = [];
  for (const [script, command] of Object.entries(scripts)) {
    const file = /^exec node scripts\/run\.js (?:--\w+ )?(\S+\.ts)/.exec(command)?.[1];
    if (file === undefined || OTHERS.test(file)) continue;
    const { program } = (await import(pathToFileURL(join(ROOT, file)).href)) as {
      readonly program?: Program;
    };
    if (program === undefined) throw new Error(`${file} exports no program`);
    found.push({ script, file, program });
  }
  return found;
}
