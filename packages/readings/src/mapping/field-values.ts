import { readText } from '../make-reading.ts';
import { quote } from '../quote.ts';
import type { ReadingValue } from '../reading.ts';
import type { MetricPlan } from './field-plans.ts';
import { Doubt, numberOf } from './numbers.ts';
import { commonStateOf, isColour, isNoValue, isVersion, stateOf } from './texts.ts';

/** Why a value is skipped. */
export class Skipped {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

export interface FieldValue {
  value: ReadingValue;
  /** The unit that the text states; null when it states none. */
  unit: string | null;
  /** Why a text that can be a number is kept as a text. */
  doubt?: string;
}

const NOT_FINITE = new Skipped('it is a number beyond 1.8e308, the largest there is');

/** Reads a scalar of a payload according to the plan of its metric. */
export function readField(value: number | string | boolean, plan: MetricPlan): FieldValue | Skipped {
  const found = typeof value === 'string' ? readString(value, plan) : readScalar(value, plan);
  if (found instanceof Skipped || typeof found.value === 'string') return found;
  found.value = scaled(found.value, plan.scale) + plan.offset;
  return Number.isFinite(found.value) ? found : NOT_FINITE;
}

/** A division by 10 is exact more often than a multiplication by 0.1, which no double represents. */
function scaled(value: number, scale: number): number {
  const divisor = 1 / scale;
  return Number.isInteger(divisor) ? value / divisor : value * scale;
}

function readScalar(value: number | boolean, { kind, words }: MetricPlan): FieldValue | Skipped {
  if (kind === 'text') return { value: String(value), unit: null };
  const word = words?.get(String(value));
  if (word !== undefined) return { value: word, unit: null };
  return { value: Number(value), unit: null };
}

function stateIn(text: string, kind: MetricPlan['kind']): number | null {
  if (kind === 'state') return stateOf(text);
  return kind === 'any' ? commonStateOf(text) : null;
}

/** Whether a text stays one, whatever it is. */
function isKept(text: string, { metric, kind }: MetricPlan): boolean {
  if (kind === 'as-is' || kind === 'text') return true;
  return (kind === 'auto' || kind === 'json' || kind === 'any') && isVersion(metric, text);
}

function readString(text: string, plan: MetricPlan): FieldValue | Skipped {
  if (isKept(text, plan)) return textValue(text);
  const { kind, words, decimal } = plan;
  const word = words?.get(text.trim().toLowerCase());
  if (word !== undefined) return { value: word, unit: null };
  if (isNoValue(text)) return new Skipped(noValueNote(text));
  if (words !== null) return new Skipped(`${quote(text)} is not one of its words`);
  const state = stateIn(text, kind);
  if (state !== null) return { value: state, unit: null };
  const number = numberOf(text, decimal, kind === 'number');
  if (number !== null && !(number instanceof Doubt)) return { value: number.value, unit: number.unit };
  if (kind === 'number') return new Skipped(number?.why ?? `${quote(text)} is not a number`);
  if (kind === 'state') return new Skipped(`${quote(text)} is not a word for a state`);
  if (kind !== 'json' && isColour(text)) return new Skipped('it is a colour');
  const found = textValue(text);
  if (number !== null && !number.isText && !(found instanceof Skipped)) found.doubt = keptAsText(number);
  return found;
}

/** The note of a word for no value. */
export function noValueNote(text: string): string {
  return text.trim() === '' ? 'it is empty' : `${quote(text)} is a word for no value`;
}

/** The note of a text that can be a number. */
export function keptAsText({ why }: Doubt): string {
  return `it is kept as a text: ${why}`;
}

function textValue(text: string): FieldValue | Skipped {
  const value = readText(text, null);
  return typeof value === 'string'
    ? { value, unit: null }
    : new Skipped(value.message.replace('the payload', 'it'));
}
