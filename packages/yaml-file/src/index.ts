export { appendEntry } from './append-entry.ts';
export { type Mistake, type Path, readBounded, YamlFile } from './yaml-file.ts';
