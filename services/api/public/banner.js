// Shows a current problem in one line at the bottom of the page.

import { $, setText } from './dom.js';

const complaints = new Map();

/** Sets the problem of a part of the page, or removes it with null. The oldest problem is shown. */
export function complain(about, message) {
  if (message === null) complaints.delete(about);
  else complaints.set(about, message);
  const [first] = complaints.values();
  $('banner').hidden = first === undefined;
  if (first !== undefined) setText($('banner'), first);
}
