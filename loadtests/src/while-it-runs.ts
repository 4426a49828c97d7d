const FIRST_MS = 10_000;

/** Does work that can take minutes, and prints how long it has taken: after 10 s, 20 s, 40 s and so on. */
export async function whileItRuns<T>(
  what: string,
  say: (line: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const wait = (before: number, ms: number): void => {
    timer = setTimeout(() => {
      const taken = before + ms;
      say(`  ${what}: ${taken / 1000} s`);
      wait(taken, taken);
    }, ms).unref();
  };
  wait(0, FIRST_MS);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
