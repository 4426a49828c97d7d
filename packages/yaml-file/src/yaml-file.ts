import { readFileSync, statSync } from 'node:fs';
import { ConfigError, whyFailed } from '@tidegauge/service/program';
import {
  type Document,
  isMap,
  isNode,
  isPair,
  isScalar,
  Lexer,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from 'yaml';

/** The largest file that is read. */
const MAX_BYTES = 2 ** 20;
/** The most lexemes (words, marks and spaces) of a file: the parser takes about 1 kB of memory for each. */
const MAX_LEXEMES = 50_000;
/** Values that aliases (`*name`) of a file may make. */
const MAX_ALIASES = 100;
const MAX_MISTAKES = 20;
/** Of further mistakes the place is not searched, because the search takes a time in proportion to the file. */
const MAX_PLACED = 200;

/** A place in the data of a file: keys and indexes from the root. */
export type Path = readonly (string | number)[];

export interface Mistake {
  readonly path: Path;
  readonly message: string;
  /** The mistake is the key itself, not its value. */
  readonly atKey?: boolean;
  /** Characters of a text on one line before the mistake. */
  readonly after?: number;
}

/** The data of a YAML file, with the position of each key. */
export class YamlFile {
  readonly name: string;
  readonly data: unknown;
  readonly #document: Document;
  readonly #lines: LineCounter;

  private constructor(name: string, document: Document, lines: LineCounter, data: unknown) {
    this.name = name;
    this.data = data;
    this.#document = document;
    this.#lines = lines;
  }

  /** @throws {ConfigError} when the file cannot be read, is too large, or is not YAML; with line and column */
  static read(path: string): YamlFile {
    return YamlFile.parse(readBounded(path), path);
  }

  /** @throws {ConfigError} as `read` does */
  static parse(text: string, name: string): YamlFile {
    const problem = sizeProblem(text);
    if (problem !== null) throw new ConfigError([`${name}: it cannot be read: ${problem}`]);
    const lines = new LineCounter();
    let document: Document;
    let data: unknown;
    try {
      document = parseDocument(text, {
        lineCounter: lines,
        prettyErrors: false,
        version: '1.2',
        stringKeys: true,
        // The check of the parser compares each key of a map with all others.
        uniqueKeys: false,
      });
      const wrong: Wrong[] = [...document.errors, ...document.warnings];
      // The parser reports an overflow once for each level of nesting.
      const overflow = wrong.find(({ message }) => message.startsWith('Maximum call stack'));
      if (overflow !== undefined) throw new Error(TOO_DEEP);
      if (wrong.length === 0) wrong.push(...repeatedKeys(document));
      if (wrong.length > 0) {
        throw new ConfigError(
          bounded(wrong.map(({ pos, message }) => `${at(name, lines, pos[0])}: ${firstLine(message)}`)),
        );
      }
      data = document.toJS({ maxAliasCount: MAX_ALIASES });
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      // Aliases that grow without a bound, or collections that are nested too deeply.
      const why = error instanceof RangeError ? TOO_DEEP : firstLine((error as Error).message);
      throw new ConfigError([`${name}: it cannot be read: ${why}`]);
    }
    return new YamlFile(name, document, lines, data);
  }

  /** All mistakes in one error, in the order of the file, each with line, column and key. */
  error(mistakes: readonly Mistake[]): ConfigError {
    const lines = mistakes
      .slice(0, MAX_PLACED)
      .map((mistake) => ({ mistake, offset: this.#offset(mistake) }))
      .toSorted((a, b) => a.offset - b.offset)
      .map(({ mistake, offset }) => `${at(this.name, this.#lines, offset)}: ${show(mistake)}`);
    return new ConfigError(bounded([...new Set(lines)], mistakes.length - MAX_PLACED));
  }

  /** Where the deepest part of a path that exists begins. */
  #offset({ path, atKey = false, after = 0 }: Mistake): number {
    let node: unknown = this.#document.contents;
    let found = startOf(node) ?? 0;
    for (const [depth, part] of path.entries()) {
      if (isNode(node) && 'source' in node && !isScalar(node)) node = undefined;
      const { below, begin } = partOf(node, part, atKey && depth === path.length - 1);
      found = begin ?? found;
      node = below;
    }
    const isQuoted = isScalar(node) && (node.type === 'QUOTE_SINGLE' || node.type === 'QUOTE_DOUBLE');
    return after === 0 ? found : found + after + (isQuoted ? 1 : 0);
  }
}

/**
 * Reads a text of at most 1 MiB.
 * @throws {ConfigError} with the name of the file
 */
export function readBounded(path: string): string {
  try {
    const { size } = statSync(path);
    if (size > MAX_BYTES) throw new Error(`it has ${size} bytes, and at most ${MAX_BYTES} are read`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigError([`${path}: it cannot be read: ${whyFailed(error)}`]);
  }
}

/**
 * All mistakes of data that are in no file, in one error, each with its key.
 *
 * @param name what the data are, such as `route`
 */
export function dataError(name: string, mistakes: readonly Mistake[]): ConfigError {
  return new ConfigError(bounded([...new Set(mistakes.map((mistake) => `${name}: ${show(mistake)}`))]));
}

/** Why a text is not parsed; null when it is. */
export function sizeProblem(text: string): string | null {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_BYTES) return `it has ${bytes} bytes, and at most ${MAX_BYTES} are read`;
  // A lexeme has at least one character.
  if (text.length <= MAX_LEXEMES) return null;
  let lexemes = 0;
  for (const _ of new Lexer().lex(text)) {
    if (++lexemes > MAX_LEXEMES)
      return `it has more than ${MAX_LEXEMES} words and marks: divide or shorten it`;
  }
  return null;
}

interface Wrong {
  readonly pos: readonly [number, number];
  readonly message: string;
}

const TOO_DEEP = 'collections are nested too deeply';

/** The keys that their map has already. */
function repeatedKeys(document: Document): readonly Wrong[] {
  const found: Wrong[] = [];
  visit(document, {
    Map(_key, { items }) {
      const seen = new Set<string>();
      for (const { key } of items) {
        const offset = startOf(key) ?? 0;
        if (seen.has(keyOf(key))) found.push({ pos: [offset, offset], message: 'Map keys must be unique' });
        seen.add(keyOf(key));
      }
    },
  });
  return found;
}

function show({ path, message }: Mistake): string {
  const key = showPath(path);
  return `${key === '' ? '' : `${key}: `}${message}`;
}

/** `hard.store[1]`, counted from 1. */
function showPath(path: Path): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part + 1}]` : `${index === 0 ? '' : '.'}${part}`))
    .join('');
}

function at(name: string, lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return `${name}:${Math.max(1, line)}:${Math.max(1, col)}`;
}

/** The node of a key or an index of a node, and where it begins. */
function partOf(
  node: unknown,
  part: string | number,
  atKey: boolean,
): { below: unknown; begin: number | null } {
  if (!isMap(node)) {
    const list = node as { get?: (key: unknown, keep: boolean) => unknown } | undefined;
    const below = list?.get?.(part, true);
    return { below, begin: startOf(below) };
  }
  const pair = node.items.find((item) => isPair(item) && keyOf(item.key) === String(part));
  const next = atKey ? pair?.key : (pair?.value ?? pair?.key);
  return { below: pair?.value, begin: startOf(next) ?? startOf(pair?.key) };
}

function startOf(node: unknown): number | null {
  return isNode(node) ? ((node as Node).range?.[0] ?? null) : null;
}

function keyOf(key: unknown): string {
  return isScalar(key) ? String(key.value) : String(key);
}

function firstLine(text: string): string {
  return text.split('\n')[0]!;
}

/** @param others mistakes that are not in `lines` */
function bounded(lines: readonly string[], others = 0): string[] {
  const more = lines.length - MAX_MISTAKES + Math.max(0, others);
  return more > 0 ? [...lines.slice(0, MAX_MISTAKES), `… and ${more} more`] : [...lines];
}
