const SLACK = 1.5;
/** Pixels of a narrow page, and the columns of a table that it must show. */
export const NARROW = 769;
const NARROW_COLUMNS = 3;
/** Grafana's own margin can cut the last label of a time axis. Where it is depends on the second. */
const TIME = /^\d\d:\d\d/;
/** Texts of each canvas: `{ text, left, right, top, bottom }` in pixels of the canvas. */
const written = new WeakMap();

/** Records what is written on canvases, because a text there is no element. */
export function watchCanvas() {
  const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function (...args) {
    written.set(this.canvas, []);
    clearRect.apply(this, args);
  };
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
    const {
      actualBoundingBoxLeft,
      actualBoundingBoxRight,
      actualBoundingBoxAscent,
      actualBoundingBoxDescent,
    } = this.measureText(text);
    const matrix = this.getTransform();
    const corners = [
      new DOMPoint(x - actualBoundingBoxLeft, y - actualBoundingBoxAscent),
      new DOMPoint(x + actualBoundingBoxRight, y + actualBoundingBoxDescent),
    ].map((point) => point.matrixTransform(matrix));
    const [xs, ys] = [corners.map((corner) => corner.x), corners.map((corner) => corner.y)];
    const box = {
      left: Math.min(...xs),
      right: Math.max(...xs),
      top: Math.min(...ys),
      bottom: Math.max(...ys),
    };
    if (!written.has(this.canvas)) written.set(this.canvas, []);
    written.get(this.canvas).push({ text, ...box });
    fillText.call(this, text, x, y, ...rest);
  };
}

/** Each panel on the page: its title, its text, whether data is missing in it, and what a reader cannot read. */
export function panelsOn(page) {
  return [...page.querySelectorAll('[data-panel]')].map((panel) => {
    const texts = textsOf(panel);
    const canvases = [...panel.querySelectorAll('canvas')];
    const faults = [
      ...(texts.length < 2 && canvases.length === 0 ? ['is blank'] : []),
      ...(panel.getBoundingClientRect().right > innerWidth ? ['is beyond the page'] : []),
      ...(canvases.length > 0 && texts.some(({ text }) => text === 'Value')
        ? ['a series is named "Value"']
        : []),
      ...texts.flatMap(cutOf),
      ...[...panel.querySelectorAll('[role=grid]')].flatMap(tableFaults),
      ...overlaps(texts),
      ...canvases.flatMap(canvasFaults),
    ];
    return {
      title: panel.dataset.panel,
      text: panel.innerText,
      isEmpty: panel.querySelector('[data-empty]') !== null || texts.some(({ text }) => text === 'No data'),
      faults: [...new Set(faults)],
    };
  });
}

/** The visible texts of a panel, with their places on the page. */
function textsOf(panel) {
  const walker = document.createTreeWalker(panel, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) {
    const { currentNode: node } = walker;
    const text = node.textContent.trim();
    const element = node.parentElement;
    if (text === '' || element.closest('style, script') !== null) continue;
    if (!element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const { left, right, top, bottom } of range.getClientRects())
      if (right - left > 1 && bottom - top > 1)
        texts.push({ text, element, panel, left, right, top, bottom });
  }
  return texts;
}

/**
 * A text that one of its boxes hides in part. Boxes that scroll down hide nothing for good. On a narrow page, those that
 * scroll sideways may hide what begins in their right half.
 */
function cutOf({ text, element, panel, left, right, top, bottom }) {
  let scrollsDown = false;
  for (let box = element; box !== panel.parentElement; box = box.parentElement) {
    const { overflowX, overflowY, clipPath } = getComputedStyle(box);
    const edge = box.getBoundingClientRect();
    if (edge.width <= 1 || edge.height <= 1 || clipPath !== 'none') return [];
    if (overflowX !== 'visible' && (right > edge.right + SLACK || left < edge.left - SLACK)) {
      const scrolls = /auto|scroll/.test(overflowX) && box.scrollWidth > box.clientWidth + 1;
      const isReachable = scrolls && innerWidth < NARROW && left > (edge.left + edge.right) / 2;
      return isReachable ? [] : [`cut at the side: ${text}`];
    }
    scrollsDown ||= /auto|scroll/.test(overflowY) && box.scrollHeight > box.clientHeight + 1;
    if (scrollsDown || overflowY === 'visible') continue;
    if (bottom > edge.bottom + SLACK * 3 || top < edge.top - SLACK * 3) return [`cut at the end: ${text}`];
  }
  const edge = panel.getBoundingClientRect();
  const isOutside = right > edge.right + SLACK || (!scrollsDown && bottom > edge.bottom + SLACK);
  return isOutside ? [`outside of its panel: ${text}`] : [];
}

/** A table that shows too few of its columns. Columns beyond its edge are not drawn. */
function tableFaults(table) {
  const columns = Number(table.ariaColCount);
  const { right } = table.getBoundingClientRect();
  const headings = [...table.querySelectorAll('[role=columnheader]')];
  const visible = headings.filter((heading) => heading.getBoundingClientRect().right < right + SLACK).length;
  const least = innerWidth < NARROW ? Math.min(columns, NARROW_COLUMNS) : columns;
  return visible < least ? [`shows ${visible} of ${columns} columns`] : [];
}

function overlaps(texts) {
  const faults = [];
  for (const [index, a] of texts.entries())
    for (const b of texts.slice(index + 1)) {
      if (a.element === b.element || !intersect(a, b, 3)) continue;
      if (isHidden(a) || isHidden(b)) continue;
      faults.push(`overlap: ${a.text} and ${b.text}`);
    }
  return faults;
}

/** Whether a box that scrolls hides the text, below or above its visible part. */
function isHidden({ element, panel, top, bottom }) {
  for (let box = element; box !== panel; box = box.parentElement) {
    const edge = box.getBoundingClientRect();
    if (getComputedStyle(box).overflowY !== 'visible' && (top > edge.bottom - 3 || bottom < edge.top + 3))
      return true;
  }
  return false;
}

function intersect(a, b, slack) {
  return (
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > slack &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > slack
  );
}

/** Labels of axes that leave the canvas or overlap, and axes that repeat a label or mix words with numbers. */
function canvasFaults(canvas) {
  const texts = (written.get(canvas) ?? []).filter(({ text }) => text.trim() !== '');
  const outside = texts.filter(
    ({ text, left, right, top, bottom }) =>
      !TIME.test(text) &&
      (left < -SLACK || top < -SLACK || right > canvas.width + SLACK || bottom > canvas.height + SLACK),
  );
  const overlapping = texts.flatMap((a, index) =>
    texts
      .slice(index + 1)
      .filter((b) => intersect(a, b, 1))
      .map((b) => `axis overlaps: ${a.text} and ${b.text}`),
  );
  // The labels of the vertical axis end at the same place.
  const ends = Map.groupBy(texts, ({ right }) => Math.round(right / 3));
  const columns = [...ends.values()].filter((column) => column.length > 1);
  const repeated = columns.flatMap((column) => {
    const labels = column.map(({ text }) => text);
    return labels
      .filter((text, index) => labels.indexOf(text) !== index)
      .map((text) => `axis repeats: ${text}`);
  });
  const mixed = columns.flatMap((column) => {
    const words = column.filter(({ text }) => !/\d|\+Inf/.test(text));
    return words.length > 0 && words.length < column.length
      ? [`axis mixes: ${column.map(({ text }) => text).join(', ')}`]
      : [];
  });
  return [...outside.map(({ text }) => `axis is cut: ${text}`), ...overlapping, ...repeated, ...mixed];
}
