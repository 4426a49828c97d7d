import type { TableNameMessage } from './admin-messages.ts';
import { tableLabel } from './region.ts';

const DEFAULT_NAMESPACE = 'default';

/** The message for a table's name. @throws {TypeError} */
export function readTableName(table: string): TableNameMessage {
  const [, namespace = DEFAULT_NAMESPACE, qualifier] =
    /^(?:([A-Za-z0-9_]+):)?([A-Za-z0-9_][A-Za-z0-9_.-]*)$/.exec(table) ?? [];
  if (qualifier === undefined) {
    throw new TypeError(`a table is called name or namespace:name, not ${JSON.stringify(table)}`);
  }
  return { namespace: Buffer.from(namespace), qualifier: Buffer.from(qualifier) };
}

/** The name in hbase:meta: without the namespace `default`. @throws {TypeError} */
export function shortTableName(table: string): string {
  const { namespace, qualifier } = readTableName(table);
  return tableLabel(namespace.toString(), qualifier.toString());
}

/** @throws {TypeError} */
export function requireNamespace(namespace: string): void {
  if (/^[A-Za-z0-9_]+$/.test(namespace)) return;
  throw new TypeError(`a namespace has letters, digits and "_", not ${JSON.stringify(namespace)}`);
}
