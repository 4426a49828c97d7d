import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigError } from '@tidegauge/service/program';
import { YamlFile } from '@tidegauge/yaml-file';
import { readDocument } from '../archive/durable-files.ts';
import { readEntries, readPlan } from '../archive/results.ts';
import { readClaims } from '../file/claims.ts';
import type { StudyFile } from '../file/study-file.ts';
import type { Claim } from '../model.ts';

const STUDIES = fileURLToPath(new URL('../../studies/', import.meta.url));
/** Verdicts of the results that were recorded last, by claims file. They are committed; results are not. */
const VERDICTS_FILE = join(STUDIES, 'verdicts.json');
const MOST_ANALYSIS_BYTES = 256 * 2 ** 20;
/** The page of all claims. */
export const CLAIMS_PAGE: string = fileURLToPath(new URL('../../../docs/studies.md', import.meta.url));

/** Verdicts of one results directory. */
export interface RecordedVerdicts {
  /** Name of the claims file without its ending, such as `s1`. */
  readonly claims: string;
  readonly study: string;
  /** Whether runs of the plan, or parts of the file, are missing. */
  readonly isPartial: boolean;
  /** ISO 8601. */
  readonly date: string;
  readonly place: string;
  readonly machine: string;
  readonly verdicts: Readonly<Record<string, RecordedVerdict>>;
}

interface RecordedVerdict {
  readonly verdict: string;
  /** The numbers, or why the claim was not run. */
  readonly found: string;
}

/** What this needs of `analysis.json`. */
interface Analysis {
  readonly study: { readonly name: string; readonly quick: boolean };
  readonly runs: { readonly partial: boolean };
  readonly environment: Readonly<Record<string, string | number>>;
  readonly claims: readonly {
    readonly id: string;
    readonly verdict: string;
    readonly reason: string;
    readonly shown: string;
  }[];
}

/**
 * Records the verdicts of results in place of earlier ones of the same claims and place, and writes the page of all
 * claims.
 *
 * @throws {ConfigError} as `verdictsOf`, and when the recorded verdicts are of more than these results
 */
export function recordVerdicts(directories: readonly string[]): void {
  const keyOf = ({ claims, place }: RecordedVerdicts): string => `${claims} ${place}`;
  const recorded = new Map(readVerdicts().map((each) => [keyOf(each), each]));
  for (const directory of directories) {
    const found = verdictsOf(directory);
    const earlier = recorded.get(keyOf(found));
    if (earlier !== undefined) assertNoLess(found, earlier, directory);
    recorded.set(keyOf(found), found);
  }
  const sorted = [...recorded.values()].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  writeFileSync(VERDICTS_FILE, `${JSON.stringify(sorted, null, 2)}\n`);
  writeFileSync(CLAIMS_PAGE, claimsPage());
}

/** An interrupted study does not replace the verdicts of a whole one. */
export function assertNoLess(found: RecordedVerdicts, earlier: RecordedVerdicts, directory: string): void {
  if (!found.isPartial || earlier.isPartial) return;
  throw new ConfigError([
    `${directory}: these results are partial, and the recorded ones of ${earlier.date} are complete: ` +
      'complete the study first (npm run study -- run), or remove the recorded ones from experiments/studies/verdicts.json',
  ]);
}

/** The text of docs/studies.md: all claims with the verdicts that are recorded. */
export function claimsPage(): string {
  const verdicts = readVerdicts();
  const studies = globSync('claims/*.yml', { cwd: STUDIES }).toSorted();
  const parts = studies.map((file) => {
    const name = basename(file, '.yml');
    const text = readFileSync(join(STUDIES, file), 'utf8');
    const claims = readClaims(text, file, { of: () => [] });
    return { name, title: titleOf(text), claims, recorded: verdicts.filter((each) => each.claims === name) };
  });
  const rows = parts.flatMap(({ name, title, claims, recorded }) =>
    (recorded.length === 0 ? [undefined] : recorded).map((each) => {
      const counts = VERDICTS.map(
        (verdict) => claims.filter((one) => verdictOf(one, each) === verdict).length,
      );
      const place = each?.place ?? '–';
      return `| [${name.toUpperCase()}](#${name}) | ${title} | ${place} | ${claims.length} | ${counts.join(' | ')} |`;
    }),
  );
  return `${INTRODUCTION}
| study | publication | results | claims | ${VERDICTS.join(' | ')} |
| --- | --- | --- | --- | --- | --- | --- | --- |
${rows.join('\n')}
${parts.map(section).join('')}`;
}

const VERDICTS = ['agrees', 'disagrees', 'undecided', 'not run'];

const INTRODUCTION = `# Claims of the studies

What five publications state, and what experiments with Tidegauge found. A study of \`experiments/studies\` names its claims, and its report judges them by
intervals: [experiments.md](experiments.md#claims) explains checks and verdicts. Claims without recorded results are "not run". Runs with \`--quick\` have no verdicts.

This page is generated. \`npm run study -- claims RESULTS...\` records the verdicts of results in \`experiments/studies/verdicts.json\` and writes it.
`;

function section({
  name,
  title,
  claims,
  recorded,
}: {
  readonly name: string;
  readonly title: string;
  readonly claims: readonly Claim[];
  readonly recorded: readonly RecordedVerdicts[];
}): string {
  const rows = claims.map((claim) => {
    const { id, text, source, notRun, because } = claim;
    const where = source === null ? '' : ` (${source})`;
    const each = (show: (one: RecordedVerdicts | undefined) => string): string =>
      notRun !== null || recorded.length < 2
        ? show(recorded[0])
        : recorded.map((one) => `${one.place}: ${show(one)}`).join('<br>');
    const cells = [
      `${text}${where}`,
      each((one) => verdictOf(claim, one)),
      each((one) => notRun ?? one?.verdicts[id]?.found ?? 'no results are recorded'),
      because ?? '',
    ];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  return `
## ${name.toUpperCase()}

${title}. ${recorded.length === 0 ? 'No results are recorded.' : recorded.map((each) => `Results: ${describe(each)}.`).join(' ')}

| claim | verdict | found | known reason for another result |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}

function verdictOf({ id, notRun }: Claim, recorded: RecordedVerdicts | undefined): string {
  return notRun === null ? (recorded?.verdicts[id]?.verdict ?? 'not run') : 'not run';
}

function describe({ study, isPartial, date, place, machine }: RecordedVerdicts): string {
  return `${study}${isPartial ? ', partial' : ''}, ${date}, ${place}, ${machine}`;
}

/**
 * The verdicts of a results directory.
 * @throws {ConfigError} when it has no report, its study names no claims, or its sizes are quick ones
 */
export function verdictsOf(directory: string): RecordedVerdicts {
  const { claims: named, parts = {} } = YamlFile.read(join(directory, 'study.yml')).data as StudyFile;
  const [file] = [named ?? []].flat();
  if (file === undefined) {
    throw new ConfigError([
      `${directory}: its study names no claims: only a study with the key claims has verdicts`,
    ]);
  }
  const analysis = readAnalysis(directory);
  const { study, runs, environment } = analysis;
  if (study.quick) {
    throw new ConfigError([
      `${directory}: quick sizes show that a study works, and do not decide its claims: run it without --quick`,
    ]);
  }
  const plan = readPlan(directory).study;
  const lacksParts = Object.keys(plan.parts ?? {}).length < Object.keys(parts).length;
  const gigabytes = Math.round(Number(environment.memoryBytes) / 1e9);
  return {
    claims: basename(file, '.yml'),
    study: study.name,
    isPartial: runs.partial || lacksParts,
    date: readEntries(directory)[0]!.time.slice(0, 10),
    place: String(environment.place),
    machine: `${environment.cpu}, ${environment.cores} processors, ${gigabytes} GB`,
    verdicts: Object.fromEntries(
      analysis.claims.map(({ id, verdict, reason, shown }) => [
        id,
        { verdict, found: [shown, reason].filter((part) => part !== '').join(' ') },
      ]),
    ),
  };
}

function readAnalysis(directory: string): Analysis {
  const advice = `make the report first: npm run study -- report ${directory}`;
  return readDocument(join(directory, 'report', 'analysis.json'), MOST_ANALYSIS_BYTES, advice);
}

function readVerdicts(): readonly RecordedVerdicts[] {
  return JSON.parse(readFileSync(VERDICTS_FILE, 'utf8')) as readonly RecordedVerdicts[];
}

/** The first comment of a claims file that is not for editors. */
function titleOf(text: string): string {
  return (/^# (?!yaml-language-server)(.*?)\.?$/m.exec(text)?.[1] ?? '').trim();
}
