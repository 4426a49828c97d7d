// DOM functions for all modules. Values from sensors are inserted as text only.

export function $(id) {
  return document.getElementById(id);
}

/** An element with attributes and children; strings become text nodes. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Words for a screen reader only. Spaces become no-break spaces, so that they separate the words beside them. */
export function said(words) {
  return element('span', { class: 'hidden' }, words.replaceAll(' ', '\u00a0'));
}

/** Sets a text only when it differs, to prevent unnecessary layout work. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Sets the text of a value, crossed when its reading was marked as wrong. */
export function setValue(node, text, isWrong) {
  setText(node, text);
  if (node.hasAttribute('data-wrong') === isWrong) return;
  node.toggleAttribute('data-wrong', isWrong);
  node.title = isWrong ? 'Marked as wrong' : '';
}

const SVG = 'http://www.w3.org/2000/svg';

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
