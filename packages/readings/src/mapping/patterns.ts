/** The most `*` in a pattern. It bounds the time of a match. */
export const MAX_STARS = 4;

interface Entry<T> {
  readonly value: T;
  readonly index: number;
}

interface WildEntry<T> extends Entry<T> {
  /** The texts around each `*`. */
  readonly pieces: readonly string[];
}

/**
 * A list of patterns with a value each, in which `*` is any number of characters, dots included. The first pattern
 * that matches counts. A name is looked up among the patterns without `*`, and compared with the others, each in a time
 * in proportion to the name.
 *
 * @example
 * new Patterns({ 'ENERGY.*': 1, '*': 2 }).find('ENERGY.Power'); // { value: 1, parts: ['Power'] }
 */
export class Patterns<T> {
  readonly #plain = new Map<string, Entry<T>>();
  readonly #wild: WildEntry<T>[] = [];

  constructor(entries: Iterable<readonly [string, T]>) {
    let index = 0;
    for (const [text, value] of entries) {
      if (text.includes('*')) this.#wild.push({ value, index, pieces: text.split('*') });
      else if (!this.#plain.has(text)) this.#plain.set(text, { value, index });
      index++;
    }
  }

  get isEmpty(): boolean {
    return this.#plain.size === 0 && this.#wild.length === 0;
  }

  /** The value of the first pattern that matches, and what each `*` stands for; null when no pattern matches. */
  find(name: string): { readonly value: T; readonly parts: readonly string[] } | null {
    const plain = this.#plain.get(name);
    for (const { value, index, pieces } of this.#wild) {
      if (plain !== undefined && plain.index < index) break;
      const parts = match(name, pieces);
      if (parts !== null) return { value, parts };
    }
    return plain === undefined ? null : { value: plain.value, parts: [] };
  }
}

/** Patterns without values, of which a name matches one or none. */
export function patternList(patterns: readonly string[]): Patterns<true> {
  return new Patterns(patterns.map((pattern) => [pattern, true]));
}

/** Replaces each `*` of `target` by the part at the same place. */
export function substitute(target: string, parts: readonly string[]): string {
  let at = 0;
  return target.replaceAll('*', () => parts[at++] ?? '');
}

/**
 * What is between the pieces; null when they are not in the name in this order. Each part is as short as possible, the
 * first one first: a regular expression with (.*?) finds the same, but can try all places of all pieces.
 */
function match(name: string, pieces: readonly string[]): readonly string[] | null {
  const first = pieces[0]!;
  const last = pieces.at(-1)!;
  const end = name.length - last.length;
  if (first.length > end || !name.startsWith(first) || !name.endsWith(last)) return null;
  const parts: string[] = [];
  let from = first.length;
  for (let index = 1; index < pieces.length - 1; index++) {
    const piece = pieces[index]!;
    const at = name.indexOf(piece, from);
    if (at === -1 || at + piece.length > end) return null;
    parts.push(name.slice(from, at));
    from = at + piece.length;
  }
  parts.push(name.slice(from, end));
  return parts;
}
