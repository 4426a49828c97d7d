import { distance } from 'fastest-levenshtein';

/** Longer words are not compared: the cost grows with the product of the lengths. */
const MAX_LENGTH = 100;

/** The known name that a misspelt one most likely means, or null when none is near. */
export function closest(word: string, known: Iterable<string>): string | null {
  if (word.length > MAX_LENGTH) return null;
  const plain = word.toLowerCase();
  let best: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const name of known) {
    const edits = distance(plain, name.toLowerCase());
    if (edits < least) [best, least] = [name, edits];
  }
  // A third of the letters, and one in short words.
  return best !== null && least <= Math.max(1, Math.floor(Math.max(word.length, best.length) / 3))
    ? best
    : null;
}

/** `: did you mean --http-port?`, or nothing: what an error about an unknown name ends with. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const name = closest(word, known);
  return name === null ? '' : `: did you mean ${name}?`;
}
