// The limits of alert rules in the chart of a metric: lines with a handle, which is dragged or moved by the keyboard.

import { rounded, stepOf } from './alert-limits.js';
import { element, setText } from './dom.js';
import { quantity } from './format.js';

/** Height of a handle, and the width that is kept for one when several are at the same height. CSS pixels. */
const HEIGHT = 24;
const WIDTH = 96;
/** A shorter drag changes nothing, CSS pixels. */
const LEAST_DRAG = 3;
/** A limit that the keyboard moved is saved after this time without a key, milliseconds. */
const REST_MS = 1200;
/** Keys and the steps that they move a limit. */
const KEYS = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 };

export class LimitLines {
  layer = element('div', { class: 'limits' });
  #onMove;
  /** Lines by the key of their limit. `moved` of a line is a value that is not saved yet, or null. */
  #lines = new Map();
  #plot = null;
  #unit = null;

  /** @param onMove called with a limit and its new value; resolves when the limits are those of the server again */
  constructor(onMove) {
    this.#onMove = onMove;
  }

  /** Shows these limits, see `limitsOf`. A line that stays keeps the focus. */
  set limits(limits) {
    const keys = new Set(limits.map(({ key }) => key));
    for (const [key, { line }] of this.#lines) {
      if (keys.has(key)) continue;
      line.remove();
      this.#lines.delete(key);
    }
    for (const limit of limits) {
      const known = this.#lines.get(limit.key);
      if (known === undefined) this.#add(limit);
      else known.limit = limit;
    }
    this.#place();
  }

  /** Places the lines in a plot; null hides them. @param box the element that has the plot */
  place(plot, box, unit) {
    this.#plot = plot;
    this.#unit = unit;
    this.layer.hidden = plot === null || this.#lines.size === 0;
    if (this.layer.hidden) return;
    const ratio = plot.ctx.canvas.width / plot.width;
    const { left, top, width, height } = plot.bbox;
    Object.assign(this.layer.style, {
      left: `${box.offsetLeft + left / ratio}px`,
      top: `${box.offsetTop + top / ratio}px`,
      width: `${width / ratio}px`,
      height: `${height / ratio}px`,
    });
    this.#place();
  }

  #place() {
    if (this.#plot === null) return;
    const height = this.layer.clientHeight;
    const taken = [];
    for (const each of this.#lines.values()) {
      const at = this.#plot.valToPos(shownValue(each), 'y');
      const shown = Math.min(height, Math.max(0, at));
      const middle = Math.min(height - HEIGHT / 2, Math.max(HEIGHT / 2, at));
      const beside = taken.filter((other) => Math.abs(other - middle) < HEIGHT).length;
      taken.push(middle);
      each.line.style.top = `${shown}px`;
      each.line.toggleAttribute('data-beyond', shown !== at);
      each.handle.style.top = `${middle - shown - HEIGHT / 2}px`;
      each.handle.style.right = `${beside * WIDTH}px`;
      this.#describe(each, at < 0 ? '▲ ' : at > height ? '▼ ' : '');
    }
  }

  #describe(each, arrow) {
    const { handle, limit } = each;
    const value = shownValue(each);
    const text = quantity(value, this.#unit);
    setText(handle, `${arrow}${limit.kind} ${text}`);
    handle.title = `Rule ${limit.rule.name}`;
    if (!isAdmin()) {
      for (const name of ['role', 'tabindex']) handle.removeAttribute(name);
      return;
    }
    const { min, max } = this.#plot.scales.y;
    const attributes = {
      role: 'slider',
      tabindex: '0',
      'aria-orientation': 'vertical',
      'aria-label': `Rule ${limit.rule.name}, ${limit.kind}`,
      'aria-valuemin': Math.min(min, value),
      'aria-valuemax': Math.max(max, value),
      'aria-valuenow': value,
      'aria-valuetext': text,
    };
    for (const [name, wanted] of Object.entries(attributes)) {
      if (handle.getAttribute(name) !== String(wanted)) handle.setAttribute(name, wanted);
    }
  }

  #add(limit) {
    const handle = element('span', { class: 'handle' });
    const line = element('div', { class: 'limit' }, handle);
    const each = { limit, line, handle, moved: null, isSaving: false };
    this.#lines.set(limit.key, each);
    this.layer.append(line);
    this.#drag(each);
    this.#type(each);
  }

  #drag(each) {
    const { handle } = each;
    let start = null;
    handle.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || !isAdmin()) return;
      handle.setPointerCapture(event.pointerId);
      start = event.clientY;
    });
    handle.addEventListener('pointermove', ({ clientY }) => {
      if (start === null || (each.moved === null && Math.abs(clientY - start) < LEAST_DRAG)) return;
      const at = clientY - this.layer.getBoundingClientRect().top;
      this.#move(each, this.#plot.posToVal(at, 'y'));
    });
    handle.addEventListener('pointerup', () => {
      if (start !== null) this.#save(each);
      start = null;
    });
    handle.addEventListener('pointercancel', () => {
      if (start !== null) this.#restore(each);
      start = null;
    });
  }

  #type(each) {
    const { handle } = each;
    let rest = null;
    handle.addEventListener('keydown', (event) => {
      const steps = KEYS[event.key];
      const isOther = steps === undefined && event.key !== 'Enter' && event.key !== 'Escape';
      if (isOther || !isAdmin() || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      clearTimeout(rest);
      if (event.key === 'Enter') this.#save(each);
      else if (event.key === 'Escape') this.#restore(each);
      else {
        this.#move(each, shownValue(each) + steps * this.#step());
        rest = setTimeout(() => this.#save(each), REST_MS);
      }
    });
    handle.addEventListener('blur', () => {
      clearTimeout(rest);
      this.#save(each);
    });
  }

  #step() {
    const { min, max } = this.#plot.scales.y;
    return stepOf(min, max);
  }

  #move(each, value) {
    each.moved = rounded(value, this.#step());
    this.#place();
  }

  #restore(each) {
    each.moved = null;
    this.#place();
  }

  /** Saves a value that was moved. It is shown until the server has answered. */
  #save(each) {
    const { limit, moved, isSaving } = each;
    if (moved === null || isSaving) return;
    if (moved === limit.value) {
      this.#restore(each);
      return;
    }
    each.isSaving = true;
    void this.#onMove(limit, moved).finally(() => {
      each.isSaving = false;
      // It may have been moved again.
      if (each.moved === moved) this.#restore(each);
    });
  }
}

function shownValue({ moved, limit }) {
  return moved ?? limit.value;
}

/** Whether the visitor may change rules. */
function isAdmin() {
  return document.body.dataset.admin !== undefined;
}
