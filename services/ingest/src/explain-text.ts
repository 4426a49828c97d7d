import type { ExplainDocument } from '@tidegauge/readings';

/** An explanation as lines for a terminal. */
export function printExplanation(found: ExplainDocument): string {
  const { topic, route, device, metric, readings, total, ignored, error, fix } = found;
  const lines = [`topic    ${topic}`];
  if (route !== null) {
    const preset = route.preset === undefined ? `format ${route.format}` : `preset ${route.preset}`;
    lines.push(`route    ${route.name} (${route.topic}), ${preset}`);
  }
  if (device !== null) lines.push(`device   ${device}`);
  if (metric !== null) lines.push(`metric   ${metric}`);
  lines.push('');
  for (const reading of readings) {
    const value = typeof reading.value === 'string' ? JSON.stringify(reading.value) : reading.value;
    const unit = reading.unit === undefined ? '' : ` ${reading.unit}`;
    lines.push(
      `reading  ${reading.device} ${reading.metric} = ${value}${unit} at ${reading.time} (${reading.quality})`,
    );
  }
  if (total > readings.length) lines.push(`         and ${total - readings.length} more readings`);
  for (const { field, reason } of ignored) lines.push(`ignored  ${field}: ${reason}`);
  if (error !== undefined) {
    const place = error.position === null ? '' : ` (at ${error.position})`;
    lines.push(`quarantine  ${error.reason}: ${error.message}${place}`);
    if (fix !== undefined && fix !== null) lines.push(`fix      ${fix}`);
  } else if (total === 0) lines.push('nothing to store: the message is acknowledged and counted as ignored');
  return `${lines.join('\n')}\n`;
}
