/** The time by which a call must end, on the monotonic clock. */
export class Deadline {
  /** Milliseconds on the clock of `performance.now()`. */
  readonly at: number;

  constructor(at: number) {
    this.at = at;
  }

  static after(ms: number): Deadline {
    return new Deadline(performance.now() + ms);
  }

  /** Milliseconds left. Negative after the deadline. */
  get left(): number {
    return this.at - performance.now();
  }

  get passed(): boolean {
    return this.left <= 0;
  }

  /** This deadline, or `ms` from now if that is earlier. */
  within(ms: number): Deadline {
    const at = performance.now() + ms;
    return at < this.at ? new Deadline(at) : this;
  }
}

/** Resolves to true when the promise is fulfilled or rejected, or to false at the deadline. */
export async function settled(promise: Promise<unknown>, deadline: Deadline): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, Math.max(deadline.left, 0), false);
  });
  const end = promise.then(
    () => true,
    () => true,
  );
  const isSettled = await Promise.race([end, late]);
  clearTimeout(timer);
  return isSettled;
}
