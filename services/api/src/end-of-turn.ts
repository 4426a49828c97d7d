let turn: Promise<void> | null = null;

/**
 * Resolves when the event loop has handled all sockets that were ready in this turn. Answers that wait for it are written
 * one after the other. Otherwise each answer wakes a client that waits, which costs more time than the rest of a short
 * request.
 */
export function endOfTurn(): Promise<void> {
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = null;
      resolve();
    });
  });
  return turn;
}
