import { bad } from './errors.ts';
import { documentOfTag, type FilterDocument } from './filters.ts';
import type { RateOptions } from './rate.ts';
import type { SubQueryDocument } from './sub-query.ts';

// The texts of queries in a URL: http://opentsdb.net/docs/build/html/api_http/query/index.html

/** A metric with its tags: `temperature{device=*,site=faro}{kind=pump}`. Tags of the second braces do not group. */
export interface Selection {
  readonly metric: string;
  readonly filters: readonly FilterDocument[];
}

/** @throws {Problem} 400 */
export function parseSelection(text: string): Selection {
  const brace = text.indexOf('{');
  if (brace < 0) return { metric: text, filters: [] };
  if (!text.endsWith('}')) throw bad(`Missing } at the end of ${JSON.stringify(text)}.`);
  const metric = text.slice(0, brace);
  const [grouping = '', others = '', ...rest] = text.slice(brace + 1, -1).split('}{');
  if (rest.length > 0) throw bad(`${JSON.stringify(text)} has more than two pairs of braces.`);
  return {
    metric,
    filters: [
      ...tagsOf(grouping).map(([key, value]) => documentOfTag(key, value, true)),
      ...tagsOf(others).map(([key, value]) => documentOfTag(key, value, false)),
    ],
  };
}

function tagsOf(text: string): [key: string, value: string][] {
  if (text === '') return [];
  return splitOutside(text, ',').map((tag) => {
    const equals = tag.indexOf('=');
    if (equals < 1 || equals === tag.length - 1) {
      throw bad(`${JSON.stringify(tag)} is not a tag: write key=value.`);
    }
    return [tag.slice(0, equals), tag.slice(equals + 1)];
  });
}

/** A query such as `sum:1m-avg:rate:temperature{device=*}`. @throws {Problem} 400 */
export function parseExpression(text: string): SubQueryDocument {
  const parts = splitOutside(text, ':');
  if (parts.length < 2) {
    throw bad(`Invalid query ${JSON.stringify(text)}: write aggregator:metric, with options between them.`);
  }
  const [aggregator] = parts;
  let at = 1;
  let options: Partial<SubQueryDocument> = {};
  // A metric can have colons too: the options end where a part is none.
  for (; at < parts.length - 1; at += 1) {
    const option = optionOf(parts[at]!);
    if (option === null) break;
    options = { ...options, ...option };
  }
  const { metric, filters } = parseSelection(parts.slice(at).join(':'));
  return { ...options, aggregator: aggregator!, metric, filters };
}

function optionOf(part: string): Partial<SubQueryDocument> | null {
  if (/^explicit_tags$/i.test(part)) return { explicitTags: true };
  const [, rateOptions] = /^rate(?:\{(.*)\})?$/i.exec(part) ?? [];
  if (/^rate(\{.*\})?$/i.test(part)) return { rate: true, rateOptions: rateOptionsOf(rateOptions ?? '') };
  return /^\d+[a-z]+-/i.test(part) ? { downsample: part } : null;
}

/** `counter,<largest value>,<reset value>` or `dropcounter`. */
function rateOptionsOf(text: string): Partial<RateOptions> {
  if (text === '') return {};
  const [kind = '', most = '', reset = '', ...rest] = text.split(',');
  const isNumber = (given: string) => /^\d*$/.test(given);
  if (!/^(drop)?counter$/.test(kind) || !isNumber(most) || !isNumber(reset) || rest.length > 0) {
    throw bad(
      `Invalid rate options ${JSON.stringify(text)}: write counter[,largest value[,reset value]] or dropcounter.`,
    );
  }
  return {
    counter: true,
    dropResets: kind === 'dropcounter',
    ...(most === '' ? {} : { counterMax: Number(most) }),
    ...(reset === '' ? {} : { resetValue: Number(reset) }),
  };
}

/** Splits a text at a character outside of braces and parentheses. */
function splitOutside(text: string, separator: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index]!;
    if (character === '{' || character === '(') depth += 1;
    else if (character === '}' || character === ')') depth -= 1;
    else if (character === separator && depth === 0) {
      parts.push(text.slice(start, index));
      start = index + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}
