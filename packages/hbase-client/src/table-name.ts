import type { TableNameMessage } from './admin-messages.ts';
import { tableLabel } from './region.ts';

const DEFAULT_NAMESPACE = 'default';

/** A table's name as the wire has it. @throws {TypeError} */
export function readTableName(table: string): TableNameMessage {
  const [, namespace = DEFAULT_NAMESPACE, qualifier] =
    /^(?:([A-Za-z0-9_]+):)?([A-Za-z0-9_][A-Za-z0-9_.-]*)$/.exec(table) ?? [];
  if (qualifier === undefined) {
    throw new TypeError(`a table is called name or namespace:name, not ${JSON.stringify(table)}`);
  }
  return { namespace: Buffer.from(namespace), qualifier: Buffer.from(qualifier) };
}

/** As hbase:meta has it: the namespace `default` is left out. @throws {TypeError} */
export function shortTableName(table: string): string {
  const { namespace, qualifier } = readTableName(table);
  return tableLabel(namespace.toString(), qualifier.toString());
}

/** @throws {TypeError} */
export function requireNamespace(namespace: string): void {
  if (/^[A-Za-z0-9_]+$/.test(namespace)) return;
  throw new TypeError(`a namespace has letters, digits and "_", not ${JSON.stringify(namespace)}`);
}
