import { isDeepStrictEqual } from 'node:util';
import { ConfigError } from '@tidegauge/service/program';
import { parseDocument, stringify } from 'yaml';
import { sizeProblem, YamlFile } from './yaml-file.ts';

/** Lines are not wrapped, and lists inside the entry are indented. */
export const STYLE = { lineWidth: 0 };

/**
 * The text of a file whose data is a list, YAML or JSON, with a further entry at its end. The other lines of a YAML
 * file stay as they are, with their comments, unless the file has the form `[…]`.
 *
 * @param name the name of the file in errors
 * @returns null when the list has an equal entry already
 * @throws {ConfigError} when the text is no list, or becomes larger than a file may be (1 MiB)
 */
export function appendEntry(text: string, name: string, entry: object): string | null {
  const file = YamlFile.parse(text, name);
  const data = file.data ?? [];
  if (!Array.isArray(data)) throw file.error([{ path: [], message: 'it must be a list' }]);
  if (data.some((each) => isDeepStrictEqual(each, entry))) return null;
  const wanted = [...(data as readonly unknown[]), entry];
  for (const candidate of candidates(text, wanted, entry)) {
    const problem = sizeProblem(candidate);
    if (problem !== null) throw new ConfigError([`${name}: with the entry ${problem}`]);
    if (hasData(candidate, name, wanted)) return candidate;
  }
  throw new ConfigError([`${name}: an entry cannot be added to a file of this form: add it with an editor`]);
}

/** Texts that may be the result, the one with the fewest changes first. */
function* candidates(text: string, wanted: readonly unknown[], entry: object): Generator<string> {
  if (isJson(text)) {
    yield `${JSON.stringify(wanted, null, 2)}\n`;
    return;
  }
  // The entries of a list can be indented; all of them have the same indentation.
  const indent = /^( *)- /m.exec(text)?.[1] ?? '';
  const added = stringify([entry], STYLE).replace(/^(?=.)/gm, indent);
  yield `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${added}`;
  const document = parseDocument(text, { version: '1.2', uniqueKeys: false });
  document.add(document.createNode(entry));
  yield document.toString(STYLE);
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export function hasData(text: string, name: string, wanted: readonly unknown[]): boolean {
  try {
    return isDeepStrictEqual(YamlFile.parse(text, name).data, wanted);
  } catch {
    return false;
  }
}
