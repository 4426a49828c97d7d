import { type Finding, LEVELS, type Level } from './finding.ts';

/** The output of `--json`. */
export interface Report {
  readonly host: string;
  readonly passed: boolean;
  readonly findings: readonly Finding[];
  /** Checks that were not done, and the flag that enables each. */
  readonly skipped: readonly string[];
}

const WORDS: Readonly<Record<Level, string>> = { error: 'ERROR', warning: 'warn', unknown: '?', ok: 'ok' };
const COLOURS: Readonly<Record<Level, number>> = { error: 31, warning: 33, unknown: 36, ok: 32 };

/**
 * Formats one line per finding, with its fix after an arrow. Problems come last, so that they are visible at the end
 * of the terminal's output.
 */
export function printReport({ host, passed, findings, skipped }: Report, colour: boolean): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings
    .toSorted((a, b) => LEVELS.indexOf(b.level) - LEVELS.indexOf(a.level))
    .map(({ check, level, message, fix }) => {
      const word = WORDS[level].padEnd(5);
      const shown = colour ? `\u001b[${COLOURS[level]}m${word}\u001b[0m` : word;
      return `${shown}  ${check.padEnd(width)}  ${message}${fix === null ? '' : ` -> ${fix}`}`;
    });
  const number = (level: Level): number => findings.filter((finding) => finding.level === level).length;
  const sums = LEVELS.map((level) => `${number(level)} ${level}`).join(', ');
  const rest = skipped.length === 0 ? [] : [`not checked: ${skipped.join('; ')}`];
  return `${[...lines, ...rest, `${host}: ${passed ? 'passed' : 'not passed'} (${sums})`].join('\n')}\n`;
}
