export { appendEntry } from './append-entry.ts';
export { type NamedEntry, putEntry, removeEntry } from './named-entry.ts';
export { unknownKeys } from './unknown-keys.ts';
export { dataError, type Mistake, type Path, readBounded, YamlFile } from './yaml-file.ts';
