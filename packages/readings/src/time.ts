/** Largest time a reading can carry: what a double counts exactly in microseconds (June 2255). */
export const MAX_TIME = Number.MAX_SAFE_INTEGER;

/** Microseconds since the epoch as ISO 8601 UTC with six decimals, `2026-11-21T14:05:08.000250Z`. */
export function formatTime(time: number): string {
  const milliseconds = Math.floor(time / 1000);
  const micros = time - milliseconds * 1000;
  const iso = new Date(milliseconds).toISOString();
  return `${iso.slice(0, -1)}${String(micros).padStart(3, '0')}Z`;
}

let monotonicOffset = 0;

/**
 * Now, in microseconds since the epoch: the system clock's milliseconds, refined by the monotonic clock.
 * It follows the system clock when that steps, as it does on boards without a battery once NTP answers.
 */
export function now(): number {
  const monotonic = performance.now() * 1000;
  const wall = Date.now() * 1000;
  const refined = Math.floor(monotonicOffset + monotonic);
  if (refined >= wall && refined < wall + 1000) return refined;
  monotonicOffset = wall - monotonic;
  return wall;
}
