import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generated } from './generated.ts';

const ROOT = dirname(import.meta.dirname);

for (const [name, text] of generated()) {
  const file = join(ROOT, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
