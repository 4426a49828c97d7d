// The buttons and lists of the history view.

import { $, element, setText } from './dom.js';
import { EARLIER, isSameRange, RANGES } from './view-state.js';
import { spanIn } from './zoned-time.js';

/** Buttons zoom by this factor, and move by this share of the time shown. */
const ZOOM = 2;
const PAN = 0.25;

/**
 * Calls `on.change(part of a view)`, `on.zoom(factor)`, `on.pan(share)`, `on.goTo()`, `on.add()`, `on.csv()`, `on.png()`
 * and `on.link()`.
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
