/** The most `*` in a pattern. It bounds the time of a match. */
export const MAX_STARS = 4;

/**
 * A list of patterns with a value each, in which `*` is any number of characters, dots included. The first pattern
 * that matches counts.
 *
 * @example
 * new Patterns({ 'ENERGY.*': 1, '*': 2 }).find('ENERGY.Power'); // { value: 1, parts: ['Power'] }
 */
export class Patterns<T> {
  readonly #patterns: readonly {
    readonly expression: RegExp | null;
    readonly text: string;
    readonly value: T;
  }[];

  constructor(entries: Iterable<readonly [string, T]>) {
    this.#patterns = [...entries].map(([text, value]) => ({
      text,
      value,
      expression: text.includes('*') ? expressionOf(text) : null,
    }));
  }

  get isEmpty(): boolean {
    return this.#patterns.length === 0;
  }

  /** The value of the first pattern that matches, and what each `*` stands for; null when no pattern matches. */
  find(name: string): { readonly value: T; readonly parts: readonly string[] } | null {
    for (const { text, expression, value } of this.#patterns) {
      if (expression === null) {
        if (text === name) return { value, parts: [] };
        continue;
      }
      const match = expression.exec(name);
      if (match !== null) return { value, parts: match.slice(1) };
    }
    return null;
  }
}

/** Replaces each `*` of `target` by the part at the same place. */
export function substitute(target: string, parts: readonly string[]): string {
  let at = 0;
  return target.replaceAll('*', () => parts[at++] ?? '');
}

function expressionOf(pattern: string): RegExp {
  const pieces = pattern.split('*').map((piece) => piece.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${pieces.join('(.*?)')}$`, 's');
}
