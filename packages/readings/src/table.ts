/**
 * A frozen table without a prototype, so that a name from a request or a file, such as `constructor`, does not find
 * an inherited property.
 */
export function table<T>(entries: Record<string, T>): Readonly<Record<string, T>> {
  return Object.freeze(Object.assign(Object.create(null), entries));
}
