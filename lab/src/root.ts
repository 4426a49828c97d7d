/**
 * Why something is not possible for this user or on this system. null: it is possible.
 *
 * @param what begins the reason, such as "a memory limit"
 */
export function rootRefusal(what: string): string | null {
  if (process.platform === 'linux' && process.getuid?.() === 0) return null;
  return `${what} needs Linux and root: run it with sudo`;
}

/** @throws {Error} as `rootRefusal` */
export function requireRoot(what: string): void {
  const refusal = rootRefusal(what);
  if (refusal !== null) throw new Error(refusal);
}
