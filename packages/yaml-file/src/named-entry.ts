import { isDeepStrictEqual } from 'node:util';
import { ConfigError } from '@tidegauge/service/program';
import { type Document, isNode, isSeq, parseDocument } from 'yaml';
import { appendEntry, hasData, isJson, STYLE } from './append-entry.ts';
import { sizeProblem, YamlFile } from './yaml-file.ts';

/** An entry of a list whose entries differ in their names. */
export interface NamedEntry {
  readonly name: string;
}

/**
 * The text of a file whose data is a list, YAML or JSON, with an entry in place of the one of the same name, or else at
 * its end. Comments before an entry stay, those inside a replaced one do not.
 *
 * @param file the name of the file in errors
 * @throws {ConfigError} as `appendEntry` does
 */
export function putEntry(text: string, file: string, entry: NamedEntry): string {
  const list = listOf(text, file);
  const index = indexOf(list, entry.name);
  if (index === -1) return appendEntry(text, file, entry) ?? text;
  if (isDeepStrictEqual(list[index], entry)) return text;
  return changed(text, file, list.with(index, entry), index, entry);
}

/**
 * The text of such a file without the entry of a name; null when it has none.
 *
 * @throws {ConfigError} as `putEntry` does
 */
export function removeEntry(text: string, file: string, name: string): string | null {
  const list = listOf(text, file);
  const index = indexOf(list, name);
  return index === -1 ? null : changed(text, file, list.toSpliced(index, 1), index, null);
}

function listOf(text: string, name: string): readonly unknown[] {
  const file = YamlFile.parse(text, name);
  const data = file.data ?? [];
  if (Array.isArray(data)) return data;
  throw file.error([{ path: [], message: 'it must be a list' }]);
}

function indexOf(list: readonly unknown[], name: string): number {
  return list.findIndex((each) => (each as Partial<NamedEntry> | null)?.name === name);
}

function changed(
  text: string,
  file: string,
  wanted: readonly unknown[],
  index: number,
  entry: object | null,
): string {
  const made = isJson(text) ? `${JSON.stringify(wanted, null, 2)}\n` : edited(text, index, entry);
  const problem = made === null ? null : sizeProblem(made);
  if (problem !== null) throw new ConfigError([`${file}: with the change ${problem}`]);
  if (made !== null && hasData(made, file, wanted)) return made;
  throw new ConfigError([`${file}: a file of this form cannot be changed here: change it with an editor`]);
}

/** Null when the other entries need the one that is replaced or removed. */
function edited(text: string, index: number, entry: object | null): string | null {
  const document: Document = parseDocument(text, { version: '1.2', uniqueKeys: false });
  const { contents } = document;
  if (!isSeq(contents)) return null;
  try {
    if (entry === null) contents.items.splice(index, 1);
    else {
      const before = contents.items[index];
      const node = document.createNode(entry);
      if (isNode(before)) {
        const { commentBefore, spaceBefore } = before;
        Object.assign(node, { commentBefore, spaceBefore });
      }
      contents.items[index] = node;
    }
    return document.toString(STYLE);
  } catch {
    // An alias refers to the entry.
    return null;
  }
}
