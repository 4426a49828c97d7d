// A change that was made, with a button that undoes it.

import { element, setText } from './dom.js';

/**
 * Shows what was done, until something else is shown in its place.
 *
 * @param undo resolves when the change is undone
 * @returns the button
 */
export function offerUndo(place, text, undo) {
  const button = element('button', { type: 'button' }, 'Undo');
  button.addEventListener('click', async () => {
    button.disabled = true;
    const said = await undo().then(
      () => 'The change was undone.',
      ({ message }) => message,
    );
    if (button.isConnected) setText(place, said);
  });
  place.replaceChildren(`${text} `, button);
  return button;
}
