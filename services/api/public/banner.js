// What is wrong at present, in one line at the foot of the page.

import { $, setText } from './dom.js';

const complaints = new Map();

/** Shows what is wrong with something; null when it is well again. The oldest complaint is the one shown. */
export function complain(about, message) {
  if (message === null) complaints.delete(about);
  else complaints.set(about, message);
  const [first] = complaints.values();
  $('banner').hidden = first === undefined;
  if (first !== undefined) setText($('banner'), first);
}
