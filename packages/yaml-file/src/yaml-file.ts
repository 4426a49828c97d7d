import { readFileSync, statSync } from 'node:fs';
import { ConfigError } from '@tidegauge/service/program';
import { type Document, isMap, isNode, isPair, isScalar, LineCounter, type Node, parseDocument } from 'yaml';

/** The largest file that is read. */
export const MAX_BYTES = 2 ** 20;
/** Values that aliases (`*name`) of a file may make. */
const MAX_ALIASES = 100;
const MAX_MISTAKES = 20;

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

  /** @throws {ConfigError} */
  static parse(text: string, name: string): YamlFile {
    const lines = new LineCounter();
    let document: Document;
    let data: unknown;
    try {
      document = parseDocument(text, {
        lineCounter: lines,
        prettyErrors: false,
        version: '1.2',
        stringKeys: true,
      });
      const wrong = [...document.errors, ...document.warnings];
      // The parser reports an overflow once for each level of nesting.
      const overflow = wrong.find(({ message }) => message.startsWith('Maximum call stack'));
      if (overflow !== undefined) throw new Error('collections are nested too deeply');
      if (wrong.length > 0) {
        throw new ConfigError(
          bounded(wrong.map(({ pos, message }) => `${at(name, lines, pos[0])}: ${firstLine(message)}`)),
        );
      }
      data = document.toJS({ maxAliasCount: MAX_ALIASES });
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      // Aliases that grow without a bound, or collections that are nested too deeply for the parser.
      throw new ConfigError([`${name}: it cannot be read: ${firstLine((error as Error).message)}`]);
    }
    return new YamlFile(name, document, lines, data);
  }

  /** All mistakes in one error, in the order of the file, each with line, column and key. */
  error(mistakes: readonly Mistake[]): ConfigError {
    const lines = mistakes
      .map((mistake) => ({ mistake, offset: this.#offset(mistake) }))
      .toSorted((a, b) => a.offset - b.offset)
      .map(({ mistake: { path, message }, offset }) => {
        const key = showPath(path);
        return `${at(this.name, this.#lines, offset)}: ${key === '' ? '' : `${key}: `}${message}`;
      });
    return new ConfigError(bounded([...new Set(lines)]));
  }

  /** Where the deepest part of a path that exists begins. */
  #offset({ path, atKey = false, after = 0 }: Mistake): number {
    let node: unknown = this.#document.contents;
    let found = startOf(node) ?? 0;
    for (const [depth, part] of path.entries()) {
      if (isNode(node) && 'source' in node && !isScalar(node)) node = undefined;
      if (isMap(node)) {
        const pair = node.items.find((item) => isPair(item) && keyOf(item.key) === String(part));
        const isLast = depth === path.length - 1;
        const next = isLast && atKey ? pair?.key : (pair?.value ?? pair?.key);
        found = startOf(next) ?? startOf(pair?.key) ?? found;
        node = pair?.value;
      } else {
        node = (node as { get?: (key: unknown, keep: boolean) => unknown } | undefined)?.get?.(part, true);
        found = startOf(node) ?? found;
      }
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
    throw new ConfigError([`${path}: it cannot be read: ${(error as Error).message}`]);
  }
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

function startOf(node: unknown): number | null {
  return isNode(node) ? ((node as Node).range?.[0] ?? null) : null;
}

function keyOf(key: unknown): string {
  return isScalar(key) ? String(key.value) : String(key);
}

function firstLine(text: string): string {
  return text.split('\n')[0]!;
}

function bounded(lines: readonly string[]): string[] {
  const more = lines.length - MAX_MISTAKES;
  return more > 0 ? [...lines.slice(0, MAX_MISTAKES), `… and ${more} more`] : [...lines];
}
