// The buttons and lists of the history view.

import { $, element, setText } from './dom.js';
import { EARLIER, isSameRange, RANGES } from './view-state.js';
import { spanIn } from './zoned-time.js';

/** Buttons zoom by this factor, and move by this share of the time shown. */
const ZOOM = 2;
const PAN = 0.25;
/** What a time or a span in the chart is chosen for. */
const CHOICES = ['annotate', 'readings'];
const HOW =
  'Click a time in the chart, or drag over a span. With the keyboard, Shift and the arrow keys move, and Enter chooses.';

/**
 * Calls `on.change(part of a view)`, `on.zoom(factor)`, `on.pan(share)`, `on.goTo()`, `on.add()`, `on.csv()`, `on.png()`,
 * `on.link()`, and `on.choose(what)` for a time in the chart, with a key of CHOICES.
 */
export function initControls(on) {
  for (const { label, range } of RANGES) {
    const button = element('button', { type: 'button' }, label);
    button.addEventListener('click', () => on.change({ range }));
    $('history-ranges').append(button);
  }
  for (const [value, { label }] of Object.entries(EARLIER))
    $('history-compare').append(element('option', { value }, label));
  $('history-compare').addEventListener('change', ({ target }) =>
    on.change({ compare: target.value === '' ? null : target.value }),
  );
  $('history-zone').addEventListener('change', ({ target }) => on.change({ zone: target.value }));
  onClick('earlier', () => on.pan(-PAN));
  onClick('later', () => on.pan(PAN));
  onClick('in', () => on.zoom(1 / ZOOM));
  onClick('out', () => on.zoom(ZOOM));
  onClick('goto', on.goTo);
  onClick('add', on.add);
  onClick('csv', on.csv);
  onClick('png', on.png);
  onClick('link', on.link);
  for (const choice of CHOICES) onClick(choice, () => on.choose(choice));
}

/** Shows what a time in the chart is chosen for, or null. */
export function paintChoice(chosen) {
  for (const choice of CHOICES)
    $(`history-${choice}`).setAttribute('aria-pressed', String(choice === chosen));
  setText($('history-said'), chosen === null ? '' : HOW);
  if (chosen !== null) $('history-surface').focus();
}

/** Shows the state of a view. */
export function paintControls({ range, compare, zone }, { from, to }, zoneName) {
  setText($('history-span'), `${spanIn(from, to, zoneName)} (${zoneName})`);
  for (const [index, button] of [...$('history-ranges').querySelectorAll('button')].entries())
    button.setAttribute('aria-pressed', String(isSameRange(RANGES[index].range, range)));
  $('history-compare').value = compare ?? '';
  $('history-zone').value = zone;
}

function onClick(name, action) {
  $(`history-${name}`).addEventListener('click', () => void action());
}
