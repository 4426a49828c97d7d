// The annotations of a chart: a list below it, and the dialogs that add, change and delete them.

import { get, send } from './api.js';
import { ask, dateField, labelled, selectField } from './dialog.js';
import { element } from './dom.js';
import { middleCut } from './format.js';
import { titleOf } from './model.js';
import { offerUndo } from './undo.js';
import { fieldText, fieldTime, momentIn, spanIn } from './zoned-time.js';

const PATH = 'v1/annotations';
const MOST_TEXT = 2000;
/** Characters of a text in the name of a button. */
const MOST_NAME = 80;
/** The choice of all sensors. Names of devices are not empty. */
const EVERY = '';
/** An annotation of the present can begin this much after the time that the page has, milliseconds. */
const AHEAD_MS = 5000;

export class Notes {
  #list;
  #said;
  #changed;
  #reading = new AbortController();
  #listed = '';
  /** The annotations as `{id, device, from, to, text, by}` in milliseconds, with the texts of the times as `begin` and `end`. */
  shown = [];

  /**
   * @param list the element for the annotations
   * @param said the element for what was done
   * @param changed called after a change, so that the annotations are read again
   */
  constructor({ list, said, changed }) {
    this.#list = list;
    this.#said = said;
    this.#changed = changed;
  }

  /**
   * Reads and lists the annotations of devices in a time, `{from, to}`, in place of those before. The next call aborts it.
   *
   * @throws {RequestError}
   */
  async read(devices, { from, to }, zone) {
    this.#reading.abort();
    this.#reading = new AbortController();
    const { signal } = this.#reading;
    try {
      const range = { from: textOf(from), to: textOf(to + AHEAD_MS) };
      const device = devices.length === 0 ? undefined : devices;
      const { annotations, next } = await get(PATH, { device, ...range }, signal);
      if (!signal.aborted) this.#show(annotations.map(parsed), next !== null, zone);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Shows none, because other devices are shown. */
  clear() {
    this.#reading.abort();
    this.#show([], false, 'UTC');
  }

  /** Puts the focus on an annotation in the list. */
  focus(id) {
    this.#list.querySelector(`[data-id="${id}"]`)?.focus();
  }

  /**
   * Shows the dialog of a new annotation.
   *
   * @param devices those that it can concern, the first one first
   * @param to its end, or null
   */
  async add(devices, { from, to }, zone) {
    const names = devices.map((name) => [name, titleOf(name)]);
    const about = selectField([...names, [EVERY, 'all sensors']]);
    const form = formOf({ from, to, text: '' }, zone, labelled('It concerns', about));
    await this.#save('Annotate', 'Annotated.', form, zone, async () => {
      const device = about.value === EVERY ? {} : { device: about.value };
      const { id } = await send('POST', PATH, {}, { ...device, from: textOf(form.from()), ...form.body() });
      return () => send('DELETE', `${PATH}/${id}`);
    });
  }

  async #edit(note, zone) {
    const form = formOf(note, zone);
    await this.#save('Edit the annotation', 'Saved.', form, zone, async () => {
      await send('PUT', `${PATH}/${note.id}`, {}, form.body());
      return () => send('PUT', `${PATH}/${note.id}`, {}, bodyOf(note));
    });
  }

  async #remove(note) {
    try {
      await send('DELETE', `${PATH}/${note.id}`);
    } catch (error) {
      this.#said.replaceChildren(error.message);
      return;
    }
    const device = note.device === null ? {} : { device: note.device };
    const undo = () => send('POST', PATH, {}, { ...device, from: note.begin, ...bodyOf(note) });
    // The button that had the focus is removed with its annotation.
    this.#done('The annotation was deleted.', undo).focus();
  }

  /** Shows a form. `work` makes the change, and resolves to the function that undoes it. */
  async #save(title, done, form, zone, work) {
    let undo = null;
    const answer = await ask({
      title,
      text: `Times are in the zone ${zone}. Without an end it concerns one moment.`,
      action: 'Save',
      label: form.fields,
      async work() {
        undo = await work();
      },
    });
    if (answer !== null) this.#done(done, undo);
  }

  #done(text, undo) {
    this.#changed();
    return offerUndo(this.#said, text, async () => {
      await undo();
      this.#changed();
    });
  }

  #show(notes, isCut, zone) {
    this.shown = notes;
    // The list is not built again without a change, so that the focus stays.
    const listed = JSON.stringify([notes, isCut, zone]);
    if (listed === this.#listed) return;
    this.#listed = listed;
    const rows = notes.map((note) => this.#row(note, zone));
    const more = 'There are more annotations in this time. Show a shorter one.';
    if (isCut) rows.push(element('li', { class: 'none' }, more));
    this.#list.replaceChildren(...rows);
  }

  #row(note, zone) {
    const { id, device, from, to, text, by } = note;
    const name = `the annotation ${middleCut(text, MOST_NAME)}`;
    const edit = element('button', { type: 'button', 'aria-label': `Edit ${name}` }, 'Edit…');
    const remove = element('button', { type: 'button', 'aria-label': `Delete ${name}` }, 'Delete');
    edit.addEventListener('click', () => void this.#edit(note, zone));
    remove.addEventListener('click', () => void this.#remove(note));
    const when = to === null ? momentIn(from, zone) : spanIn(from, to, zone);
    const about = [device === null ? 'all sensors' : titleOf(device), ...(by === null ? [] : [`by ${by}`])];
    return element(
      'li',
      { 'data-id': id, tabindex: '-1' },
      element(
        'p',
        {},
        element('b', {}, when),
        ' ',
        text,
        ' ',
        element('span', { class: 'about' }, about.join(', ')),
      ),
      element('div', { class: 'tools' }, edit, remove),
    );
  }
}

/** The fields of an annotation. `about` is the field of the device of a new one. */
function formOf({ from, to, text }, zone, about = null) {
  const [start, end] = [timeField(from, zone), timeField(to, zone)];
  start.field.required = true;
  start.field.disabled = about === null;
  const attributes = { class: 'field', rows: '3', maxlength: String(MOST_TEXT), required: '', autofocus: '' };
  const words = element('textarea', attributes, text);
  const fields = element(
    'div',
    { class: 'form' },
    labelled('Text', words),
    labelled('From', start.field),
    labelled('To (optional)', end.field),
    ...(about === null ? [] : [about]),
  );
  return {
    fields,
    from: start.read,
    body() {
      const until = end.read();
      if (until !== null && until <= start.read()) throw new Error('The end is not after the beginning.');
      return { text: words.value, ...(until === null ? {} : { to: textOf(until) }) };
    },
  };
}

/** A field with a time, or with none. The exact time stays unless the visitor changes it. */
function timeField(time, zone) {
  const field = dateField(time === null ? '' : fieldText(time, zone));
  const before = field.value;
  return { field, read: () => (field.value === before ? time : fieldTime(field.value, zone)) };
}

/** What a request restores of an annotation, besides its device and its beginning. */
function bodyOf({ text, end }) {
  return { text, ...(end === null ? {} : { to: end }) };
}

function parsed({ from, to, ...note }) {
  return { ...note, begin: from, end: to, from: Date.parse(from), to: to === null ? null : Date.parse(to) };
}

function textOf(time) {
  return new Date(time).toISOString();
}
