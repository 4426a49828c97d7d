import { relative } from 'node:path';

/** What the reporters write for each test. */
export interface TestRecord {
  readonly name: string;
  /** Absolute path. null: the reporter has no path. */
  readonly file: string | null;
  /** Milliseconds. */
  readonly ms: number;
  /** flaky: it failed beside other tests, and passed alone. */
  readonly outcome: 'passed' | 'failed' | 'skipped' | 'flaky';
  /** Of a failure the error, of a skipped test the reason. */
  readonly reason: string | null;
}

/** The records in a reporter's file. A last line that a killed process has left incomplete is ignored. */
export function parseRecords(text: string): TestRecord[] {
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as TestRecord);
}

const SLOWEST = 20;

/** The end of a run: skipped tests by reason, the slowest tests, flaky and failed tests, totals. */
export function summarize(records: readonly TestRecord[], problems: readonly string[], root: string): string {
  const place = ({ file }: TestRecord): string => (file === null ? '(unknown file)' : relative(root, file));
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1).padStart(7)} s`;
  const of = (outcome: TestRecord['outcome']) => records.filter((record) => record.outcome === outcome);
  const [skipped, failed] = [of('skipped'), of('failed')];

  const lines: string[] = [];
  const section = (title: string, entries: readonly string[]): void => {
    if (entries.length > 0) lines.push('', title, ...entries.map((entry) => `  ${entry}`));
  };
  const byReason = Map.groupBy(skipped, ({ reason }) => reason ?? 'no reason given');
  section(
    'Skipped:',
    [...byReason].map(([reason, tests]) => {
      const files = [...new Set(tests.map(place))];
      const shown = files.length > 3 ? `${files.slice(0, 3).join(', ')} and ${files.length - 3} more` : files;
      return `${tests.length} test${tests.length === 1 ? '' : 's'}: ${reason} (${shown})`;
    }),
  );
  section(
    `The ${SLOWEST} slowest tests:`,
    records
      .toSorted((a, b) => b.ms - a.ms)
      .slice(0, SLOWEST)
      .map((record) => `${seconds(record.ms)}  ${place(record)}: ${record.name}`),
  );
  const named = (record: TestRecord): string => `${place(record)}: ${record.name}`;
  section('FLAKY, because they failed beside other tests and passed alone:', of('flaky').map(named));
  section('FAILED:', [...failed.map(named), ...problems]);
  const passed = records.length - skipped.length - failed.length;
  lines.push('', `${passed} passed, ${failed.length + problems.length} failed, ${skipped.length} skipped`);
  return `${lines.join('\n')}\n`;
}
