import { MAX_METRIC_LENGTH } from '../reading.ts';
import { cleanName } from './clean-name.ts';
import type { Decimal } from './numbers.ts';
import type { MappingOptions, ValueKind } from './options.ts';
import { Patterns, patternList, substitute } from './patterns.ts';
import { compileTemplate, type Template } from './template.ts';
import { registeredUnit } from './units.ts';

/** How a metric is read. `json`, of payloads without a mapping: like `auto`, and colours are texts. */
export type ReadKind = ValueKind | 'json';

/** How the values of a metric are read. */
export interface MetricPlan {
  readonly metric: string;
  readonly kind: ReadKind;
  /** The numbers of words in lower case; null when the kind decides. */
  readonly words: ReadonlyMap<string, number> | null;
  /** Its unit, or the template of its unit; null when the mapping has none. */
  readonly unit: string | Template | null;
  /** What separators in texts mean; null: what is certain. */
  readonly decimal: Decimal | null;
  readonly scale: number;
  readonly offset: number;
}

/** What a field of the payload becomes. */
export interface FieldPlan {
  /** Its name after renaming and cleaning; null when the field is not used. */
  readonly name: string | null;
  /** Why it is ignored; null when it is used, or not used on purpose. */
  readonly ignored: string | null;
}

const UNUSED: FieldPlan = { name: null, ignored: null };
const TOO_LONG: FieldPlan = {
  name: null,
  ignored: `its name has more than ${MAX_METRIC_LENGTH} characters: rename it`,
};
/** Bound of each cache of plans, bytes. */
export const PLAN_CACHE_BYTES = 1 << 20;
/** An entry without the characters of its name: the key, the plan and their place in the map. */
const ENTRY_BYTES = 200;

/**
 * The plans of a mapping for fields and metrics. Patterns are matched once for each name, not for each message. The
 * caches are bounded. They only save time, so the result of a decoder does not depend on them.
 */
export class FieldPlans {
  readonly #consumed: ReadonlySet<string>;
  readonly #keep: Patterns<true> | null;
  readonly #drop: Patterns<true>;
  readonly #rename: Patterns<string>;
  readonly #values: Patterns<{
    readonly kind: ValueKind;
    readonly words: ReadonlyMap<string, number> | null;
  }>;
  readonly #units: Patterns<string | Template>;
  readonly #scale: Patterns<number>;
  readonly #offset: Patterns<number>;
  readonly #decimal: Decimal | null;
  readonly #otherwise: ReadKind;
  readonly #fields = new PlanCache<FieldPlan>();
  readonly #containers = new PlanCache<boolean>();
  readonly #metrics = new PlanCache<MetricPlan>();

  /**
   * @param consumed paths that are used for something else than metrics
   * @param otherwise how metrics are read that `values` does not have
   */
  constructor(options: MappingOptions, consumed: ReadonlySet<string>, otherwise: ReadKind = 'auto') {
    this.#consumed = consumed;
    this.#otherwise = otherwise;
    this.#decimal = options.decimal ?? null;
    this.#keep = options.keep === undefined ? null : patternList(options.keep);
    this.#drop = patternList(options.drop ?? []);
    this.#rename = new Patterns(Object.entries(options.rename ?? {}));
    this.#values = new Patterns(
      Object.entries(options.values ?? {}).map(([pattern, value]) => [
        pattern,
        typeof value === 'string'
          ? { kind: value, words: null }
          : {
              kind: 'state',
              words: new Map(Object.entries(value).map(([word, number]) => [word.toLowerCase(), number])),
            },
      ]),
    );
    this.#units = new Patterns(
      Object.entries(options.units ?? {}).map(([pattern, unit]) => [
        pattern,
        unit.includes('{') ? compileTemplate(unit) : registeredUnit(unit),
      ]),
    );
    this.#scale = new Patterns(Object.entries(options.scale ?? {}));
    this.#offset = new Patterns(Object.entries(options.offset ?? {}));
  }

  /** The plan of the field at a path. */
  field(path: string): FieldPlan {
    return this.#fields.get(path) ?? this.#fields.keep(path, this.#planField(path));
  }

  /** Whether nothing below a path is used. */
  isDropped(path: string): boolean {
    if (this.#consumed.size === 0 && this.#drop.isEmpty) return false;
    const known = this.#containers.get(path);
    if (known !== undefined) return known;
    return this.#containers.keep(path, this.#consumed.has(path) || this.#drop.find(path) !== null);
  }

  /** The plan of a metric. */
  metric(metric: string): MetricPlan {
    const known = this.#metrics.get(metric);
    if (known !== undefined) return known;
    const plan: MetricPlan = {
      metric,
      ...(this.#values.find(metric)?.value ?? { kind: this.#otherwise, words: null }),
      unit: this.#units.find(metric)?.value ?? null,
      decimal: this.#decimal,
      scale: this.#scale.find(metric)?.value ?? 1,
      offset: this.#offset.find(metric)?.value ?? 0,
    };
    return this.#metrics.keep(metric, plan);
  }

  #planField(path: string): FieldPlan {
    if (this.#consumed.has(path) || this.#drop.find(path) !== null) return UNUSED;
    if (this.#keep !== null && this.#keep.find(path) === null) return UNUSED;
    const renamed = this.#rename.find(path);
    const name = cleanName(renamed === null ? path : substitute(renamed.value, renamed.parts));
    return name.length > MAX_METRIC_LENGTH ? TOO_LONG : { name, ignored: null };
  }
}

/** Values by name, at most `PLAN_CACHE_BYTES` of them. A full cache keeps what it has. */
class PlanCache<V> {
  readonly #values = new Map<string, V>();
  #bytes = 0;

  get(name: string): V | undefined {
    return this.#values.get(name);
  }

  /** Returns the value, which is kept if there is room. The name is new. */
  keep(name: string, value: V): V {
    // The name and that in the plan can be two strings of two bytes per character.
    const bytes = ENTRY_BYTES + 4 * name.length;
    if (this.#bytes + bytes <= PLAN_CACHE_BYTES) {
      this.#bytes += bytes;
      this.#values.set(name, value);
    }
    return value;
  }
}
