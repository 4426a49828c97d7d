import type { CutSummary } from './judge.ts';

export const FAULTS = ['kill', 'power cut'] as const;

/** What one broker, or direct mode, has lost by one fault. */
export interface PubackResult {
  /** What sends PUBACK, with its settings. */
  readonly subject: string;
  readonly fault: (typeof FAULTS)[number];
  readonly cuts: number;
  /** null: it could not be measured. */
  readonly figures: CutSummary | null;
}

const HEADER = [
  ...['what sends PUBACK', 'fault', 'faults', 'acknowledged before one, median'],
  ...['faults with a loss', 'sessions lost', 'lost, median', 'lost, most', 'age of the oldest, most'],
];

/** The header, and a row for each subject and fault. Counts are messages. */
export function pubackRows(results: readonly PubackResult[]): readonly (readonly string[])[] {
  const count = (value: number): string => value.toLocaleString('en');
  const rows = results.map(({ subject, fault, cuts, figures }) => {
    const start = [subject, fault, count(cuts)];
    if (figures === null) return [...start, 'not measured', '', '', '', '', ''];
    const { acknowledged, withLoss, sessionsLost, messages, seconds } = figures;
    const counts = [acknowledged, withLoss, sessionsLost, messages.median, messages.most].map(count);
    return [...start, ...counts, `${seconds.most.toFixed(1)} s`];
  });
  return [HEADER, ...rows];
}
