// The alert rules of the sensor that is shown, whose limits are lines in its charts.

import { concerns, limitsOf, withLimit } from './alert-limits.js';
import { get, send } from './api.js';
import { nameText } from './names.js';

/** The sensor whose rules were read last, its rules, and the number of reads. An answer to an earlier read is not used. */
let known = { name: null, rules: [] };
let reads = 0;

/** Reads the rules that concern a sensor. A visitor with a key of some devices may not read them, and sees no lines. */
export async function readRules(name) {
  reads += 1;
  const read = reads;
  const { rules } = await get('v1/alerts/rules').catch(() => ({ rules: [] }));
  if (read === reads) known = { name, rules: rules.filter((rule) => concerns(rule, name)) };
}

/** Shows the limits in the chart of a metric of a sensor, as far as they are known. */
export function showLimits(chart, name) {
  chart.limits = limitsOf(known.name === name ? known.rules : [], chart.metric);
}

/**
 * Changes a limit. Resolves to what was done, and a function that undoes it.
 *
 * @throws {RequestError}
 */
export async function changeLimit({ rule, kind }, value) {
  await putRule(withLimit(rule, kind, value));
  const where =
    rule.device === undefined ? 'all sensors' : `${nameText(rule.device)} and the sensors below it`;
  const said = `The rule ${rule.name} begins ${kind} ${value} now, for ${where}.`;
  return { said, undo: () => putRule(rule) };
}

async function putRule({ name, ...fields }) {
  await send('PUT', `v1/alerts/rules/${encodeURIComponent(name)}`, {}, fields);
}
