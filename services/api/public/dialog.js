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
  const text = `${why} Enter an API key (tidegauge keys), or the API_TOKEN of this server.`;
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
