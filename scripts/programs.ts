import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { benchNames } from '@tidegauge/bench/main';
import type { Program } from '@tidegauge/service/program';
import { PROGRAMS } from '../apps/tidegauge/src/programs.ts';
import { ROOT } from './setup.js';

/** A TypeScript program that users or contributors start. */
export interface ListedProgram {
  /** The name of a program of `tidegauge`, an npm script, or a benchmark: `keys`, `ycsb`, `bench ingest`. */
  readonly script: string;
  /** The program's file, from the root. */
  readonly file: string;
  readonly program: Program;
}

/** The file of `tidegauge`, which starts the programs of its table. */
export const TIDEGAUGE = 'apps/tidegauge/src/main.ts';
/** The file of `npm run bench`, which starts the programs in `bench/programs`. */
const BENCH = 'bench/src/main.ts';
/** Test runners, fuzzing, checks, and the simulator. They read their arguments themselves. */
const OTHERS = /^(apps\/tidegauge\/src\/sim|scripts\/(test|words|fuzz\/main|supply-chain\/\w+-main))\.ts/;

/** The npm scripts of package.json. */
export function npmScripts(): Readonly<Record<string, string>> {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  return scripts;
}

/** The programs of `tidegauge`, those that only an npm script starts, in the order of package.json, and the benchmarks. */
export async function listPrograms(): Promise<readonly ListedProgram[]> {
  const files = new Map(Object.entries(PROGRAMS).map(([name, { module }]) => [name, `${module}.ts`]));
  for (const [script, command] of Object.entries(npmScripts())) {
    const file = /^exec node scripts\/run\.js (?:--\w+ )?(\S+\.ts)/.exec(command)?.[1];
    if (file === BENCH) {
      for (const name of benchNames()) files.set(`${script} ${name}`, `bench/programs/${name}.ts`);
    } else if (file !== undefined && file !== TIDEGAUGE) files.set(script, file);
  }
  const found: ListedProgram[] = [];
  for (const [script, file] of files) {
    if (OTHERS.test(file)) continue;
    const { program } = (await import(pathToFileURL(join(ROOT, file)).href)) as {
      readonly program?: Program;
    };
    if (program === undefined) throw new Error(`${file} exports no program`);
    found.push({ script, file, program });
  }
  return found;
}
