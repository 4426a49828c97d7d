import { readFileSync } from 'node:fs';

/** The statements of each `sql` block on the page of an engine, in order. */
export function pageStatements(page: string): string[][] {
  const text = readFileSync(new URL(`../docs/${page}.md`, import.meta.url), 'utf8');
  return [...text.matchAll(/^```sql\n([\s\S]*?)^```$/gm)].map(([, block]) =>
    block!
      .split(/;\n+/)
      .map((statement) => statement.trim())
      .filter((statement) => statement !== ''),
  );
}
