// How words of payloads are read: words for states, and words for no value. numbers.ts reads numbers.

/** The most characters of a word. Longer texts are only texts. */
const LONGEST = 64;

/** Words for no value, in lower case. */
const NO_VALUE = new Set(
  [
    '',
    '-',
    '--',
    '---',
    '–',
    '—',
    '?',
    'unavailable',
    'unknown',
    'none',
    'null',
    'nil',
    'undefined',
    'nan',
    '+nan',
    '-nan',
  ].concat(['inf', '+inf', '-inf', 'infinity', '+infinity', '-infinity', 'n/a', 'n.a.', 'na', '#n/a']),
);

/** Whether a text is a word for no value, in any case: `unavailable`, `unknown`, `NaN`, or empty. */
export function isNoValue(text: string): boolean {
  return text.length <= LONGEST && NO_VALUE.has(text.trim().toLowerCase());
}

const COLOUR =
  /^(?:#(?:[0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})|(?:rgb|rgba|hsl|hsla|hsv)\([^)]{0,48}\))$/;

/** Whether a text is a colour as in CSS: `#ff8800`, `rgb(255, 136, 0)`. */
export function isColour(text: string): boolean {
  return text.length <= LONGEST && COLOUR.test(text);
}

/** Pairs of words that are states wherever they are the whole payload. They mean 1 and 0. */
const COMMON = [
  ['on', 'off'],
  ['true', 'false'],
  ['yes', 'no'],
  ['open', 'closed'],
  ['online', 'offline'],
  ['connected', 'disconnected'],
  ['home', 'not_home'],
] as const;

/** Further pairs, for fields that a mapping declares as states. Elsewhere they can have other meanings. */
const FURTHER = [
  ['opened', 'close'],
  ['home', 'away'],
  ['alive', 'dead'],
  ['up', 'down'],
  ['active', 'inactive'],
  ['enabled', 'disabled'],
  ['detected', 'clear'],
  ['occupied', 'unoccupied'],
  ['wet', 'dry'],
  ['locked', 'unlocked'],
  ['lock', 'unlock'],
  ['running', 'stopped'],
  ['present', 'absent'],
] as const;

/** All words for states, for documents and messages. */
export const statePairs: readonly (readonly [string, string])[] = [...COMMON, ...FURTHER];

const COMMON_STATES = tableOf(COMMON);
const STATES = tableOf(statePairs);

function tableOf(pairs: readonly (readonly [string, string])[]): ReadonlyMap<string, number> {
  return new Map(
    pairs.flatMap(([one, zero]) => [
      [one, 1],
      [zero, 0],
    ]),
  );
}

const DECIMAL = /^\d+\.\d+$/;
const VERSION_NAMES = new Set(
  'version ver fw firmware sw software hw hardware rev revision release build'.split(' '),
);

/** Whether a text is a version by the last word of its field: `1.10` of `fw_version`, which is another one than `1.1`. */
export function isVersion(field: string, text: string): boolean {
  if (!DECIMAL.test(text)) return false;
  const words = field.match(/[A-Z]?[a-z]+|[A-Z]+/g);
  return words !== null && VERSION_NAMES.has(words.at(-1)!.toLowerCase());
}

/** The number of a word for a state, in any case: 1 for `ON` or `open`, 0 for `OFF` or `closed`; null for others. */
export function stateOf(text: string): number | null {
  return text.length > LONGEST ? null : (STATES.get(text.trim().toLowerCase()) ?? null);
}

/** Like `stateOf`, for the words that are states wherever they are the whole payload. */
export function commonStateOf(text: string): number | null {
  return text.length > LONGEST ? null : (COMMON_STATES.get(text.trim().toLowerCase()) ?? null);
}
