import type { BoxRule, Combination, Level, PlaceName, Published, Study, TableState } from '../model.ts';

/** A value, or a list of values. */
export type OneOrMore<T> = T | readonly T[];
type Levels = Readonly<Record<string, OneOrMore<Level>>>;

/** The data of an experiment file that the schema accepts. */
export interface StudyFile {
  readonly study: string;
  readonly title?: string;
  readonly question?: string;
  readonly seed?: number;
  readonly hard: Levels;
  readonly easy: Levels;
  readonly fixed?: Combination;
  readonly parts?: Readonly<Record<string, Levels>>;
  readonly repeat?: Partial<Study['repeat']>;
  readonly state?: TableState | Readonly<Record<string, TableState>>;
  readonly exclude?: readonly ExclusionFile[];
  readonly valid?: Readonly<Record<string, number | string | null>>;
  readonly requeue?: { readonly most?: number };
  readonly energy?: Study['energy'];
  readonly networks?: Readonly<Record<string, NetworkFile>>;
  readonly analyse?: AnalysisFile;
  readonly figures?: readonly string[];
  readonly published?: readonly Published[];
  readonly claims?: OneOrMore<string>;
  readonly quick?: Partial<Counts> & { readonly parts?: Readonly<Record<string, Levels>> };
}

/**
 * Levels to leave out, with the reason. It holds in the places `on`; without it, in all. With `without`, it does not hold
 * where that store is available.
 */
export type ExclusionFile = Levels & {
  readonly on?: OneOrMore<PlaceName>;
  readonly without?: string;
  readonly because: string;
};

/** A network profile. Durations have units. */
export interface NetworkFile {
  readonly delay: string | number;
  readonly jitter?: string | number;
  readonly loss?: number;
  readonly rate?: string;
}

/** What is compared, as the file has it. */
export interface AnalysisFile {
  readonly metrics?: OneOrMore<string>;
  readonly per?: OneOrMore<string>;
  readonly groups?: OneOrMore<string>;
  readonly alpha?: number;
  readonly margin?: number;
  readonly boxes?: BoxRule;
}

/** Sizes that a quick run changes. */
export interface Counts {
  readonly records: number;
  readonly operations: number;
  readonly trials: number;
  readonly deployments: number;
  readonly warmup: number;
}
