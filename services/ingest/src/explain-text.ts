import type { ExplainDocument } from '@tidegauge/readings';

/**
 * An explanation as lines for a terminal.
 *
 * @param most readings, and ignored fields, that are printed
 */
export function printExplanation(found: ExplainDocument, most = 1000): string {
  const { topic, route, device, metric, readings, total, ignored, doubts = [], error, fix } = found;
  const lines = [`topic    ${topic}`];
  if (route !== null) lines.push(routeLine(route));
  if (device !== null) lines.push(`device   ${device}`);
  if (metric !== null) lines.push(`metric   ${metric}`);
  lines.push('');
  lines.push(...readings.slice(0, most).map(readingLine));
  const more = total - Math.min(readings.length, most);
  if (more > 0) lines.push(`         and ${more} more readings`);
  for (const { field, reason } of ignored.slice(0, most)) lines.push(`ignored  ${field}: ${reason}`);
  if (ignored.length > most) lines.push(`         and ${ignored.length - most} more fields`);
  for (const { field, reason } of doubts.slice(0, most)) lines.push(`note     ${field}: ${reason}`);
  if (error !== undefined) {
    const place = error.position === null ? '' : ` (at ${error.position})`;
    lines.push(`quarantine  ${error.reason}: ${error.message}${place}`);
  } else if (total === 0) lines.push('nothing to store: the message is acknowledged and counted as ignored');
  if (fix !== undefined && fix !== null) lines.push(`fix      ${fix}`);
  return `${lines.map(visible).join('\n')}\n`;
}

function routeLine({ name, topic, format, preset }: NonNullable<ExplainDocument['route']>): string {
  const decoder = preset === undefined ? `format ${format}` : `preset ${preset}`;
  return `route    ${name} (${topic}), ${decoder}`;
}

function readingLine(reading: ExplainDocument['readings'][number]): string {
  const { device, metric, time, quality } = reading;
  const value = typeof reading.value === 'string' ? JSON.stringify(reading.value) : reading.value;
  const unit = reading.unit === undefined ? '' : ` ${reading.unit}`;
  return `reading  ${device} ${metric} = ${value}${unit} at ${time} (${quality})`;
}

/**
 * A text from outside on one line of a terminal: control characters, which can move the cursor or change the text
 * before them, and marks that change the direction of the text are escaped.
 */
export function visible(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it replaces
    /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}
