import { didYouMean } from '@tidegauge/text';
import { combinations } from '../combinations.ts';
import type { ClaimCheck, ClaimRelation, ClaimTest, Combination, Level } from '../model.ts';
import { FACTORS, factorNamed, urlOption } from './factors.ts';

/** A mistake in the text of a check. */
export class ClaimSyntaxError extends Error {
  /** Characters before the mistake. */
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

export interface ClaimContext {
  /** What is wrong with the name of a metric, or null. */
  readonly metricProblem: (name: string) => string | null;
  /** Levels of a factor in the study; none when it does not have the factor. */
  readonly levelsOf: (factor: string) => readonly Level[];
}

interface Token {
  readonly text: string;
  readonly offset: number;
  readonly kind: 'word' | 'quoted' | 'sign' | 'end';
}

const TOKEN = /\s*(?:"([^"]*)"|([:,<>=/])|([^\s:,<>=/"]+))/y;
const KEYWORDS: readonly string[] = [
  ...['about', 'and', 'between', 'falls', 'for', 'highest', 'levels', 'lowest', 'off', 'over', 'rises'],
  ...['same', 'then', 'to', 'with', 'within'],
];
const RELATIONS: readonly string[] = ['>', '<', '='];
const NUMBER = /^\d+(\.\d+)?$/;
/** Units of constants, as in `runtime: < 58430 ms`. */
const UNITS: readonly string[] = ['ms', 's', 'h', 'ops/s', 'J', 'W'];
/** A ratio `about` a number may differ from it by this factor, 1 + this share, in both directions. */
const TOLERANCE = 0.25;

/**
 * Reads the check of a claim, such as `throughput: cassandra > hbase for workload a, d`. docs/experiments.md describes
 * the language.
 *
 * @throws {ClaimSyntaxError} with the place of the mistake
 */
export function parseClaimCheck(text: string, context: ClaimContext): ClaimCheck {
  return new ClaimParser(text, context).check();
}

class ClaimParser {
  readonly #tokens: readonly Token[];
  readonly #context: ClaimContext;
  #at = 0;
  /** Of levels that come without a factor. */
  #usual = 'store';

  constructor(text: string, context: ClaimContext) {
    this.#tokens = tokensOf(text);
    this.#context = context;
  }

  check(): ClaimCheck {
    const name = this.#next('a metric');
    const problem = this.#context.metricProblem(name.text);
    if (problem !== null) throw new ClaimSyntaxError(name.offset, problem);
    this.#expect(':');
    const test = this.#test();
    this.#usual = 'store';
    const where = this.#accept('for') ? this.#terms() : {};
    const rest = this.#peek();
    if (rest.kind !== 'end') throw new ClaimSyntaxError(rest.offset, `${rest.text} is not expected here`);
    return { metric: name.text, test, where };
  }

  #test(): ClaimTest {
    if (this.#accept('rises')) {
      if (!this.#accept('then')) return { kind: 'trend', shape: 'rises', factor: this.#factorAfter('with') };
      this.#expect('falls');
      return { kind: 'trend', shape: 'peaks', factor: this.#factorAfter('with') };
    }
    if (this.#accept('falls')) return { kind: 'trend', shape: 'falls', factor: this.#factorAfter('with') };
    if (this.#accept('same')) return { kind: 'trend', shape: 'same', factor: this.#factorAfter('over') };
    if (this.#accept('levels')) {
      this.#expect('off');
      return { kind: 'trend', shape: 'levels-off', factor: this.#factorAfter('with') };
    }
    return RELATIONS.includes(this.#peek().text) ? this.#bound() : this.#comparison();
  }

  #bound(): ClaimTest {
    const relation = this.#next('> or <');
    if (relation.text === '=') throw new ClaimSyntaxError(relation.offset, 'a constant needs > or <');
    const value = this.#number();
    const unit = this.#word('a unit', UNITS);
    return { kind: 'bound', relation: relation.text as '>' | '<', value, unit };
  }

  #comparison(): ClaimTest {
    const sides = [this.#side()];
    const extreme = this.#peek().text;
    if (this.#accept('highest') || this.#accept('lowest')) {
      return { kind: 'extreme', side: sides[0]!, extreme: extreme as 'highest' | 'lowest' };
    }
    if (this.#accept('/')) {
      sides.push(this.#side());
      return { kind: 'ratio', sides, ...this.#range() };
    }
    const relations: ClaimRelation[] = [];
    while (RELATIONS.includes(this.#peek().text)) {
      relations.push(this.#next('a relation').text as ClaimRelation);
      sides.push(this.#side());
    }
    if (relations.length > 0) return { kind: 'order', sides, relations };
    throw new ClaimSyntaxError(this.#peek().offset, 'expected >, <, =, /, highest or lowest');
  }

  #range(): { readonly low: number; readonly high: number } {
    if (this.#accept('between')) {
      const low = this.#number();
      this.#expect('and');
      const { offset } = this.#peek();
      const high = this.#number();
      if (high <= low) throw new ClaimSyntaxError(offset, `${high} must be above ${low}`);
      return { low, high };
    }
    this.#expect('about');
    const { offset } = this.#peek();
    const middle = this.#number();
    if (middle === 0) throw new ClaimSyntaxError(offset, 'a ratio about 0 has no tolerance');
    const share = this.#accept('within') ? this.#percent() : TOLERANCE;
    return { low: middle / (1 + share), high: middle * (1 + share) };
  }

  #percent(): number {
    const { text, offset } = this.#next('a percentage');
    const number = text.endsWith('%') ? text.slice(0, -1) : '';
    if (NUMBER.test(number) && Number(number) > 0) return Number(number) / 100;
    throw new ClaimSyntaxError(offset, `${text} is not a percentage such as 10%`);
  }

  /** Groups on one side. A level without a factor belongs to the first factor of the side before, or to `store`. */
  #side(): readonly Combination[] {
    const terms = this.#terms();
    this.#usual = Object.keys(terms)[0]!;
    return combinations(terms);
  }

  /** `workload a, d and rf 2`: levels by factor. */
  #terms(): Readonly<Record<string, readonly Level[]>> {
    const found: Record<string, readonly Level[]> = {};
    do {
      const { offset } = this.#peek();
      const name = this.#factorName() ?? this.#usual;
      if (name in found)
        throw new ClaimSyntaxError(offset, `${name} is named twice: list its levels with commas`);
      found[name] = this.#levels(name);
    } while (this.#accept('and'));
    return found;
  }

  #levels(name: string): readonly Level[] {
    const levels: Level[] = [];
    do levels.push(...this.#levelOrRange(name));
    while (this.#accept(','));
    return levels;
  }

  #levelOrRange(name: string): readonly Level[] {
    const first = this.#level(name);
    if (!this.#accept('to')) return [first];
    const { offset } = this.#peek();
    const [low, high] = [sizeOf(first), sizeOf(this.#level(name))];
    if (low === null || high === null || high <= low) {
      throw new ClaimSyntaxError(offset, 'a range needs two numbers or sizes, the smaller one first');
    }
    return this.#context.levelsOf(name).filter((level) => {
      const size = sizeOf(level);
      return size !== null && size >= low && size <= high;
    });
  }

  #level(factor: string): Level {
    const token = this.#next(`a level of ${factor}`);
    try {
      return factorNamed(factor).parse(token.text);
    } catch (error) {
      const known = [...FACTORS.keys()];
      const hint = didYouMean(token.text, known);
      const reason = hint === '' ? (error as Error).message : `or a factor${hint}`;
      throw new ClaimSyntaxError(token.offset, `${token.text} is not a level of ${factor}: ${reason}`);
    }
  }

  /** The factor that comes next, or null where a level comes next. */
  #factorName(): string | null {
    const { text, kind } = this.#peek();
    if (kind !== 'word' || !(FACTORS.has(text) || urlOption(text) !== null)) return null;
    this.#at += 1;
    return text;
  }

  #factorAfter(keyword: string): string {
    this.#expect(keyword);
    const { text, offset } = this.#peek();
    const name = this.#factorName();
    if (name !== null) return name;
    throw new ClaimSyntaxError(offset, `${shown(text)} is not a factor${didYouMean(text, FACTORS.keys())}`);
  }

  #number(): number {
    const { text, offset } = this.#next('a number');
    if (NUMBER.test(text)) return Number(text);
    throw new ClaimSyntaxError(offset, `${text} is not a number`);
  }

  #word(what: string, known: readonly string[]): string {
    let { text, offset } = this.#next(what);
    // `/` is a sign, so that ops/s are three tokens.
    if (this.#peek().text === '/' && this.#accept('/')) text += `/${this.#next(what).text}`;
    if (known.includes(text)) return text;
    throw new ClaimSyntaxError(offset, `${text} is not ${what}: there are ${known.join(', ')}`);
  }

  #peek(): Token {
    return this.#tokens[this.#at]!;
  }

  #accept(text: string): boolean {
    const token = this.#peek();
    const isThere = token.text === text && (token.kind === 'word' || token.kind === 'sign');
    if (isThere) this.#at += 1;
    return isThere;
  }

  #expect(text: string): void {
    if (this.#accept(text)) return;
    const token = this.#peek();
    throw new ClaimSyntaxError(token.offset, `expected ${text}, and found ${shown(token.text)}`);
  }

  #next(what: string): Token {
    const token = this.#peek();
    const isReserved = token.kind === 'word' && KEYWORDS.includes(token.text);
    const isPlain = token.kind === 'sign' && !RELATIONS.includes(token.text);
    if (token.kind === 'end' || isReserved || isPlain) {
      throw new ClaimSyntaxError(token.offset, `expected ${what}, and found ${shown(token.text)}`);
    }
    this.#at += 1;
    return token;
  }
}

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  const pattern = new RegExp(TOKEN);
  while (text.slice(pattern.lastIndex).trim() !== '') {
    const from = pattern.lastIndex;
    const match = pattern.exec(text);
    if (match === null) {
      const offset = from + text.slice(from).search(/\S/);
      throw new ClaimSyntaxError(offset, 'the quoted level does not end');
    }
    const [whole, quoted, sign, word] = match;
    const kind = quoted !== undefined ? 'quoted' : sign !== undefined ? 'sign' : 'word';
    tokens.push({ text: quoted ?? sign ?? word!, offset: from + whole.search(/\S/), kind });
  }
  return [...tokens, { text: '', offset: text.length, kind: 'end' }];
}

function shown(text: string): string {
  return text === '' ? 'the end' : text;
}

/** A number, or a size such as 512MiB in bytes; null for other levels. */
function sizeOf(level: Level): number | null {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(KiB|MiB|GiB)?$/.exec(String(level)) ?? [];
  if (number === undefined) return null;
  return Number(number) * ({ KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 }[unit ?? ''] ?? 1);
}
