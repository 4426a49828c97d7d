import type { MappingOptions } from '../mapping/options.ts';

/** A route of a preset: topics of the sender, and how their payloads become readings. */
export interface PresetRoute {
  /** The topic template below the base topic of the preset. */
  readonly topic: string;
  /** The mapping; `ignore` when messages of these topics are no readings. */
  readonly mapping: MappingOptions | 'ignore';
}

/** What a sender publishes. A route with `preset: <name>` becomes one route for each of its routes. */
export interface Preset {
  /** As in `preset:` of a route. */
  readonly name: string;
  /** The sender, as people call it. */
  readonly title: string;
  /**
   * The first levels of all topics, as the sender has them unless its user changes them; empty when topics begin with
   * the first level of `topic`. `base` of a route replaces it.
   */
  readonly base: string;
  /**
   * In order: the first one whose topic matches is used. `presetMapping` chooses one when a route has its own `topic`.
   */
  readonly routes: readonly PresetRoute[];
}

/** The topic template of a route of a preset below a base. */
export function presetTopic(base: string, topic: string): string {
  return [base, topic].filter((part) => part !== '').join('/');
}

/**
 * The mapping of a preset for a route with its own topic template: that of the route of the preset whose template has
 * the same end, `x/{device+}/STATE` for `tele/{device}/STATE`; of several, the one with the fewest fixed levels; the
 * first one when none has the same end.
 */
export function presetMapping({ routes }: Preset, topic: string): MappingOptions {
  const levels = levelsOf(topic);
  let best: MappingOptions = {};
  let longest = -1;
  let fewest = 0;
  for (const { topic: other, mapping } of routes) {
    if (mapping === 'ignore') continue;
    const length = commonEnd(levels, levelsOf(other));
    const fixed = levelsOf(other).filter((level) => !/^[{+#]/.test(level)).length;
    if (length < longest || (length === longest && (length === 0 || fixed >= fewest))) continue;
    longest = length;
    fewest = fixed;
    best = mapping;
  }
  return best;
}

/** The levels of a template, in which paths and single levels of the same name are equal. */
function levelsOf(topic: string): readonly string[] {
  return topic.replaceAll('+}', '}').split('/');
}

function commonEnd(one: readonly string[], other: readonly string[]): number {
  let length = 0;
  while (length < one.length && one.at(-1 - length) === other.at(-1 - length)) length++;
  return length;
}
