import { distance } from 'fastest-levenshtein';

/** Longer words are not compared: the cost grows with the product of the lengths. */
const MAX_LENGTH = 100;

/**
 * Finds the known name that is nearest to a misspelt one, or null when none is near.
 *
 * @example
 * closest('--htp-port', ['--http-port', '--metrics-port']); // '--http-port'
 */
export function closest(word: string, known: Iterable<string>): string | null {
  if (word.length > MAX_LENGTH) return null;
  const plain = word.toLowerCase();
  let best: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const name of known) {
    const edits = distance(plain, name.toLowerCase());
    if (edits < least) [best, least] = [name, edits];
  }
  if (best === null) return null;
  // At most a third of the letters may differ. Of three letters the first must be right, because many words are near.
  const length = Math.max(word.length, best.length);
  const isSimilar = length > 3 || plain[0] === best[0]?.toLowerCase();
  return isSimilar && least <= Math.floor(length / 3) ? best : null;
}

/** The end of an error about an unknown name: `: did you mean --http-port?`, or an empty text. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const name = closest(word, known);
  return name === null ? '' : `: did you mean ${name}?`;
}
