import { type Finding, LEVELS, type Level } from './finding.ts';

/** What scripts get from `--json`. */
export interface Report {
  readonly host: string;
  readonly passed: boolean;
  readonly findings: readonly Finding[];
  /** Checks that were not made, and the flag that asks for each. */
  readonly notAsked: readonly string[];
}

const WORDS: Readonly<Record<Level, string>> = { error: 'ERROR', warning: 'warn', unknown: '?', ok: 'ok' };
const COLOURS: Readonly<Record<Level, number>> = { error: 31, warning: 33, unknown: 36, ok: 32 };

/** A line per finding, its mend behind an arrow; what needs a hand last, where a terminal's reader looks. */
export function printReport({ host, passed, findings, notAsked }: Report, colour: boolean): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings
    .toSorted((a, b) => LEVELS.indexOf(b.level) - LEVELS.indexOf(a.level))
    .map(({ check, level, says, mend }) => {
      const word = WORDS[level].padEnd(5);
      const shown = colour ? `\u001b[${COLOURS[level]}m${word}\u001b[0m` : word;
      return `${shown}  ${check.padEnd(width)}  ${says}${mend === null ? '' : ` -> ${mend}`}`;
    });
  const number = (level: Level): number => findings.filter((finding) => finding.level === level).length;
  const sums = LEVELS.map((level) => `${number(level)} ${level}`).join(', ');
  const skipped = notAsked.length === 0 ? [] : [`not looked at: ${notAsked.join('; ')}`];
  return `${[...lines, ...skipped, `${host}: ${passed ? 'passed' : 'not passed'} (${sums})`].join('\n')}\n`;
}
