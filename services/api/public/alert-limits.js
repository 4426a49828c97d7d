// The limits of alert rules, as they are shown and moved in charts. Pure functions.

/** A step is at most this share of the values that a chart shows. */
const STEPS = 20;
const KINDS = ['above', 'below'];

/** Whether a rule concerns a sensor: without a device it concerns all. */
export function concerns({ device }, name) {
  return device === undefined || `${name}/`.startsWith(`${device}/`);
}

/** The limits of a metric in rules, as `{key, rule, kind, value}`; `kind` is above or below. */
export function limitsOf(rules, metric) {
  return rules
    .filter((rule) => rule.metric === metric)
    .flatMap((rule) =>
      KINDS.filter((kind) => rule[kind] !== undefined).map((kind) => {
        return { key: `${rule.name} ${kind}`, rule, kind, value: rule[kind] };
      }),
    );
}

/** The value at which an alert of a limit ends, if the rule has one. */
export function clearOf(clear, kind) {
  return typeof clear === 'object' ? clear[kind] : clear;
}

/** A rule with another limit. Its alert ends as far from the limit as before. */
export function withLimit(rule, kind, value) {
  const moved = { ...rule, [kind]: value };
  const before = clearOf(rule.clear, kind);
  if (before === undefined) return moved;
  const end = tidy(before + value - rule[kind]);
  return { ...moved, clear: typeof rule.clear === 'object' ? { ...rule.clear, [kind]: end } : end };
}

/** By how much a key moves a limit in a chart from `low` to `high`: a power of ten. */
export function stepOf(low, high) {
  return 10 ** Math.floor(Math.log10((high - low) / STEPS));
}

/** The multiple of a step that is nearest to a value. */
export function rounded(value, step) {
  return tidy(Math.round(value / step) * step);
}

/** Without the digits that binary fractions add. */
function tidy(value) {
  return Number(value.toPrecision(12));
}
