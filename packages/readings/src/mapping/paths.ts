// A path names a field of a payload: `uplink.rx.0.rssi`. Arrays are counted from 0.

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Whether a value is an object with fields, and not an array. */
export function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && !Array.isArray(value);
}

/** The value at a path; undefined when it does not exist. A field whose own name has dots is found too. */
export function valueAt(root: unknown, path: string): unknown {
  let node = root;
  let rest = path;
  for (;;) {
    if (!isObject(node)) return undefined;
    if (has(node, rest)) return node[rest];
    const dot = rest.indexOf('.');
    if (dot === -1) return undefined;
    const key = rest.slice(0, dot);
    if (!has(node, key)) return undefined;
    node = node[key];
    rest = rest.slice(dot + 1);
  }
}

function has(node: object, key: string): boolean {
  return Object.hasOwn(node, key) && !(key === 'length' && Array.isArray(node));
}

export interface RecordAt {
  /** The key or index of the record in its container; empty for the payload itself. */
  readonly key: string;
  readonly value: unknown;
}

/**
 * The records at a path: the elements of an array, or the object itself. A last `*` stands for each entry of an object
 * or array.
 */
export function recordsAt(root: unknown, path: string): readonly RecordAt[] {
  const each = path === '*' || path.endsWith('.*');
  const place = each ? path.slice(0, -2) : path;
  const found = place === '' ? root : valueAt(root, place);
  if (found === undefined || found === null) return [];
  if (Array.isArray(found)) return found.map((value, index) => ({ key: String(index), value }));
  if (each) return isObject(found) ? Object.keys(found).map((key) => ({ key, value: found[key] })) : [];
  return [{ key: '', value: found }];
}
