// Pointer and keyboard input on a chart, as changes of the time shown. Positions are shares of the width, from 0 to 1.

/** A shorter drag is a click, pixels. */
const LEAST_DRAG = 5;
/** The wheel's distance that doubles the time shown, pixels. */
const DOUBLING = 240;
/** A line of a wheel that counts in lines, pixels. */
const LINE = 16;
const KEY_ZOOM = 2;
const KEY_PAN = 0.25;

/**
 * Calls:
 * - `zoom(factor, share)`: the time at `share` stays. Returns whether the time shown has changed
 * - `pan(share)`: by a share of the time shown. Returns whether it has changed
 * - `pinch(before, after)`: positions of two fingers when the second one touched, and now
 * - `begin()`: two fingers touched. The time shown now is that of `before`
 * - `select(start, end, isDone)`: a part was chosen, or with `isDone` false is being chosen. null and null: none
 * - `isPicking()`: whether a click or a drag of a mouse or a finger chooses a time or a span
 * - `pick(start, end)`: what was chosen. `end` is null for a time, and `start` too with the Enter key
 * - `cancel()`: the Escape key
 * - `cursor(share)`: null without a cursor
 * - `moveCursor(step)`: one step to later or earlier times, 1 or -1
 * - `home()`, `end()`: to the first reading, and to now
 */
export function attachGestures(surface, on) {
  /** Pointer id -> position, of the fingers or the button that is down. */
  const held = new Map();
  /** 'select', 'pan', 'pinch', 'read', 'pick', or null. */
  let mode = null;
  let start = 0;
  let before = [];

  const shareOf = ({ clientX }) => {
    const { left, width } = surface.getBoundingClientRect();
    return width === 0 ? 0 : Math.min(1, Math.max(0, (clientX - left) / width));
  };
  const isDrag = (share) => Math.abs(share - start) * surface.clientWidth >= LEAST_DRAG;

  surface.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || held.size === 2) return;
    surface.setPointerCapture(event.pointerId);
    const share = shareOf(event);
    held.set(event.pointerId, share);
    start = share;
    if (held.size === 2) {
      mode = 'pinch';
      before = [...held.values()];
      on.cursor(null);
      on.begin();
    } else if (on.isPicking()) {
      mode = 'pick';
    } else if (event.pointerType === 'touch') {
      mode = 'read';
      on.cursor(share);
    } else {
      mode = event.shiftKey ? 'pan' : 'select';
    }
  });

  surface.addEventListener('pointermove', (event) => {
    const share = shareOf(event);
    if (!held.has(event.pointerId)) {
      if (held.size === 0) on.cursor(share);
      return;
    }
    held.set(event.pointerId, share);
    switch (mode) {
      case 'pinch':
        on.pinch(before, [...held.values()]);
        break;
      case 'read':
        on.cursor(share);
        break;
      case 'select':
      case 'pick':
        on.cursor(share);
        on.select(...(isDrag(share) ? [start, share] : [null, null]), false);
        break;
      case 'pan':
        on.pan(start - share);
        start = share;
        break;
    }
  });

  const release = (event) => {
    if (!held.delete(event.pointerId)) return;
    const ended = mode;
    // A finger that stays after a pinch does nothing until it touches again.
    mode = null;
    if (ended === 'select') {
      const share = shareOf(event);
      if (event.type === 'pointerup' && isDrag(share)) on.select(start, share, true);
      else on.select(null, null, false);
    }
    if (ended === 'pick') {
      const share = shareOf(event);
      on.select(null, null, false);
      if (event.type === 'pointerup') on.pick(...(isDrag(share) ? [start, share] : [share, null]));
    }
  };
  surface.addEventListener('pointerup', release);
  surface.addEventListener('pointercancel', release);
  surface.addEventListener('pointerleave', ({ pointerType }) => {
    if (held.size === 0 && pointerType !== 'touch') on.cursor(null);
  });

  surface.addEventListener(
    'wheel',
    (event) => {
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : LINE;
      const [x, y] = [event.deltaX * unit, event.deltaY * unit];
      // A trackpad's pinch is a wheel with Ctrl, in small steps.
      const distance = event.ctrlKey ? 8 * y : y;
      const isSideways = Math.abs(x) > Math.abs(y) || event.shiftKey;
      const moved = isSideways
        ? on.pan((x === 0 ? y : x) / surface.clientWidth)
        : on.zoom(2 ** (distance / DOUBLING), shareOf(event));
      // At the bounds the wheel scrolls the page.
      if (moved) event.preventDefault();
    },
    { passive: false },
  );

  surface.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const action = keyAction(event, on);
    if (action === null) return;
    event.preventDefault();
    action();
  });
}

function keyAction({ key, shiftKey }, on) {
  switch (key) {
    case '+':
    case '=':
      return () => on.zoom(1 / KEY_ZOOM, null);
    case '-':
    case '_':
      return () => on.zoom(KEY_ZOOM, null);
    case 'ArrowLeft':
      return shiftKey ? () => on.moveCursor(-1) : () => on.pan(-KEY_PAN);
    case 'ArrowRight':
      return shiftKey ? () => on.moveCursor(1) : () => on.pan(KEY_PAN);
    case 'Home':
      return on.home;
    case 'End':
      return on.end;
    case 'Enter':
      return on.isPicking() ? () => on.pick(null, null) : null;
    case 'Escape':
      return on.cancel;
    default:
      return null;
  }
}
