// Modal dialogs for confirmations and for the key.

import { element, setText } from './dom.js';

/**
 * Requests a confirmation before a change.
 *
 * @param className of the button: `danger` for a change that cannot be undone, otherwise empty
 * @returns true when the visitor confirms it with `action`
 */
export async function confirm({ title, text, action, className = 'danger' }) {
  return (await ask({ title, text, action, className })) !== null;
}

/** @returns the API key that the visitor enters, or null */
export async function askKey(why) {
  const field = element('input', {
    class: 'field',
    type: 'password',
    // Password managers may keep it.
    autocomplete: 'current-password',
    spellcheck: 'false',
    required: '',
  });
  const label = labelled('Key', field);
  const text = `${why} Enter an API key, which the administrator of this server makes with “tidegauge keys create NAME”, or its API_TOKEN.`;
  const answer = await ask({ title: 'Sign in', text, action: 'Sign in', label });
  return answer === null || field.value.trim() === '' ? null : field.value.trim();
}

/**
 * Shows a form, and waits for it.
 *
 * @param label fields of the form
 * @param work is done before the form closes; when it fails, the form stays open with the reason
 * @returns `action`, or null when the visitor cancels
 */
export function ask({ title, text, action, label = '', className = '', work = null }) {
  const heading = element('h2', {}, title);
  const cancel = element('button', { type: 'button' }, 'Cancel');
  const go = element('button', { type: 'submit', class: className }, action);
  const trouble = element('p', { class: 'trouble', role: 'alert' });
  const form = element(
    'form',
    {},
    heading,
    element('p', {}, text),
    label,
    trouble,
    element('div', { class: 'tools' }, cancel, go),
  );
  const dialog = element('dialog', { 'aria-label': title }, form);
  document.body.append(dialog);
  return new Promise((resolve) => {
    let answer = null;
    let isWorking = false;
    cancel.addEventListener('click', () => dialog.close());
    // What is under way cannot be cancelled.
    dialog.addEventListener('cancel', (event) => isWorking && event.preventDefault());
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      if (isWorking) return;
      if (work !== null) {
        isWorking = true;
        cancel.disabled = true;
        setText(trouble, '');
        try {
          await work();
        } catch (error) {
          setText(trouble, error.message);
          return;
        } finally {
          isWorking = false;
          cancel.disabled = false;
        }
      }
      answer = action;
      dialog.close();
    });
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(answer);
    });
    dialog.showModal();
    // The focus is on Cancel, so that pressing Enter once too often does not confirm the change.
    if (label === '') cancel.focus();
  });
}

/** A field with its name above it. */
export function labelled(name, field) {
  return element('label', { class: 'labelled' }, name, field);
}

/** A field for date and time, to the second. */
export function dateField(value = '') {
  return element('input', { class: 'field', type: 'datetime-local', step: '1', value });
}

/** @param choices pairs of value and text */
export function selectField(choices) {
  const options = choices.map(([value, text]) => element('option', { value }, text));
  return element('select', { class: 'field' }, ...options);
}

/**
 * Shows a dialog with content that its buttons change, and a button that closes it.
 *
 * @param name of the dialog, for a screen reader
 * @param said a `statusLine`
 */
export function openDialog({ name, title, said }, ...content) {
  const close = element('button', { type: 'button' }, 'Close');
  const dialog = element(
    'dialog',
    { 'aria-label': name },
    element('h2', {}, title),
    ...content,
    said,
    element('div', { class: 'tools' }, close),
  );
  close.addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** The place for what buttons did. */
export function statusLine() {
  return element('p', { class: 'said', role: 'status' });
}

/** Runs the work of a button. When it fails, the error is shown in `said`. */
export async function attempt(said, work) {
  try {
    said.replaceChildren();
    await work();
  } catch (error) {
    setText(said, error.message);
  }
}

/** A row of a list: a text, and buttons as `[text, name for a screen reader, work]`. What fails is shown in `said`. */
export function listRow(said, text, ...buttons) {
  const tools = buttons.map(([label, name, work]) => {
    const button = element('button', { type: 'button', 'aria-label': name }, label);
    button.addEventListener('click', () => void attempt(said, work));
    return button;
  });
  return element('li', {}, element('p', {}, text), element('div', { class: 'tools' }, ...tools));
}

/** Shows rows, or a row that explains why there are none. */
export function fillList(list, rows, none) {
  list.replaceChildren(...(rows.length === 0 ? [element('li', { class: 'none' }, none)] : rows));
}

/** A button that does `work`. What fails is shown in `said`. */
export function workButton(text, said, work) {
  const button = element('button', { type: 'button' }, text);
  button.addEventListener('click', () => void attempt(said, work));
  return button;
}

/** Shows a text that can be selected and copied. */
export async function showText({ title, text, name, value }) {
  const field = element('input', { class: 'field', readonly: '', value });
  field.addEventListener('focus', () => field.select());
  await ask({ title, text, action: 'Done', label: labelled(name, field) });
}
