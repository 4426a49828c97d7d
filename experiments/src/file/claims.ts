import type { ConfigError } from '@tidegauge/service/program';
import { type Mistake, type Path, YamlFile } from '@tidegauge/yaml-file';
import type { Claim } from '../model.ts';
import { claimMetricProblem } from './analysis.ts';
import { ClaimSyntaxError, parseClaimCheck } from './claim-language.ts';
import { CLAIMS_SCHEMA_FILE, schemaMistakes } from './schema.ts';
import type { StudyInput } from './study-input.ts';
import type { StudyLevels } from './study-levels.ts';

/** An entry of a file of claims that the schema accepts. */
interface ClaimEntry {
  readonly id: string;
  readonly text: string;
  readonly source?: string;
  readonly check?: string;
  readonly notRun?: string;
  readonly because?: string;
}

/** The claims of all files that the study names. Mistakes in such a file have its name, line and column. */
export function claimsOf(input: StudyInput, levels: Pick<StudyLevels, 'of'>): readonly Claim[] {
  const names = [input.file.claims ?? []].flat();
  const found: Claim[] = [];
  for (const [index, name] of names.entries()) {
    const path = Array.isArray(input.file.claims) ? ['claims', index] : ['claims'];
    for (const claim of claimsIn(input, path, name, levels)) {
      if (found.some(({ id }) => id === claim.id)) input.add(path, `two claims have the id ${claim.id}`);
      found.push(claim);
    }
  }
  return found;
}

/** The claims of one file; none after a mistake. */
function claimsIn(
  input: StudyInput,
  path: Path,
  name: string,
  levels: Pick<StudyLevels, 'of'>,
): readonly Claim[] {
  const text = input.readFile(path, name);
  if (text === null) return [];
  try {
    return readClaims(text, name, levels);
  } catch (error) {
    for (const problem of (error as ConfigError).problems ?? [String(error)]) input.add(path, problem);
    return [];
  }
}

/**
 * Reads the text of a file of claims.
 *
 * @param name of the file, for errors
 * @param levels of the study, for ranges of levels
 * @throws {ConfigError} with a line for each mistake
 */
export function readClaims(text: string, name: string, levels: Pick<StudyLevels, 'of'>): readonly Claim[] {
  const file = YamlFile.parse(text, name);
  const mistakes = schemaMistakes(file.data, CLAIMS_SCHEMA_FILE);
  if (mistakes.length > 0) throw file.error(mistakes);
  const context = { metricProblem: claimMetricProblem, levelsOf: (factor: string) => levels.of(factor) };
  const ids = new Set<string>();
  const claims = (file.data as readonly ClaimEntry[]).map((entry, index): Claim => {
    if (ids.has(entry.id)) mistakes.push({ path: [index, 'id'], message: 'another claim has this id' });
    ids.add(entry.id);
    let parsed: Claim['parsed'] = null;
    try {
      parsed = entry.check === undefined ? null : parseClaimCheck(entry.check, context);
    } catch (error) {
      if (!(error instanceof ClaimSyntaxError)) throw error;
      mistakes.push(syntaxMistake(index, error));
    }
    if ((entry.check === undefined) === (entry.notRun === undefined)) {
      mistakes.push({ path: [index], message: `${entry.id}: give either check, or notRun with the reason` });
    }
    const { id, text, source = null, check = null, notRun = null, because = null } = entry;
    return { id, text, source, check, parsed, notRun, because };
  });
  if (mistakes.length > 0) throw file.error(mistakes);
  return claims;
}

function syntaxMistake(index: number, { offset, message }: ClaimSyntaxError): Mistake {
  return { path: [index, 'check'], message, after: offset };
}
