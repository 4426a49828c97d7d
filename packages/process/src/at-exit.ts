import { onExit } from 'signal-exit';

/**
 * Registers a synchronous step that runs once: when the function returned is called, when this process exits, or when
 * a signal for which nothing else listens ends it.
 *
 * @param last runs the step after all others, such as the end of child processes
 */
export function atExit(act: () => void, { last = false } = {}): () => void {
  let isDone = false;
  const once = (): void => {
    if (isDone) return;
    isDone = true;
    remove();
    act();
  };
  const remove = onExit(() => once(), { alwaysLast: last });
  return once;
}
