import { basename } from 'node:path';
import { didYouMean } from '@tidegauge/text';
import type { Published } from '../model.ts';
import { FACTORS } from './factors.ts';
import type { StudyInput } from './study-input.ts';

/** The files of published numbers. Their texts are read, and their columns are checked. */
export function publishedOf(input: StudyInput): readonly Published[] {
  const known = [...FACTORS.keys(), 'metric', 'statistic', 'value', 'unit', 'flag', 'note'];
  const names = new Set<string>();
  const published = input.file.published ?? [];
  for (const [index, { file }] of published.entries()) {
    const path = ['published', index, 'file'];
    // Results have all files in one directory.
    const name = basename(file);
    if (names.has(name)) input.add(path, `another file is named ${name} too: rename one of them`);
    names.add(name);
    const text = input.readFile(path, file);
    if (text === null) continue;
    const columns = text
      .replace(/^\uFEFF/, '')
      .split(/\r?\n/)[0]!
      .split(',')
      .map((column) => column.trim());
    for (const column of ['metric', 'value']) {
      if (!columns.includes(column)) input.add(path, `${file} has no column ${column} in its first line`);
    }
    const unknown = columns.find((column) => !known.includes(column) && !column.startsWith('url.'));
    if (unknown !== undefined) {
      input.add(
        path,
        `${file}: the column ${JSON.stringify(unknown)} is not a factor${didYouMean(unknown, known)}`,
      );
    }
  }
  return published;
}
