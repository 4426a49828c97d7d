// The little that the modules share about the DOM. Whatever came from a sensor goes in as text.

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

/** Words for a screen reader only. Their spaces are kept, so that they do not run into their neighbours. */
export function said(words) {
  return element('span', { class: 'hidden' }, words.replaceAll(' ', '\u00a0'));
}

/** Sets a text only when it differs, so that nothing is laid out again for nothing. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const SVG = 'http://www.w3.org/2000/svg';

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
