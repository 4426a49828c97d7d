import Table from 'cli-table3';

const LINES = ['top', 'bottom', 'left', 'right', 'mid'].flatMap((edge) => [edge, `${edge}-mid`]);
const CORNERS = ['top-left', 'top-right', 'bottom-left', 'bottom-right'];
const NO_BORDERS = Object.fromEntries([...LINES, ...CORNERS].map((part) => [part, '']));

/** Formats rows as text in columns, two spaces apart. The first column is aligned left, the others right. */
export function textTable(rows: readonly (readonly string[])[]): string {
  const columns = Array.from({ length: Math.max(...rows.map((row) => row.length)) }, (_, column) => column);
  const table = new Table({
    chars: { ...NO_BORDERS, middle: '  ' },
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
    colAligns: columns.map((column) => (column === 0 ? 'left' : 'right')),
  });
  table.push(...rows.map((row) => columns.map((column) => row[column] ?? '')));
  return table
    .toString()
    .split('\n')
    .map((line) => `  ${line.trimEnd()}\n`)
    .join('');
}
