const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const pending = new Set<() => void>();

/**
 * Something to do once: by calling what this returns, or when this process exits, or is ended by a signal that
 * nobody else listens to. It must not need the event loop.
 */
export function atExit(act: () => void): () => void {
  if (pending.size === 0) {
    process.on('exit', actAll);
    for (const signal of SIGNALS) process.on(signal, onSignal);
  }
  const once = (): void => {
    if (!pending.delete(once)) return;
    if (pending.size === 0) {
      process.removeListener('exit', actAll);
      for (const signal of SIGNALS) process.removeListener(signal, onSignal);
    }
    act();
  };
  pending.add(once);
  return once;
}

function actAll(): void {
  for (const act of pending) act();
}

function onSignal(signal: NodeJS.Signals): void {
  // Whoever else listens decides when the process exits.
  if (process.listenerCount(signal) > 1) return;
  actAll();
  process.kill(process.pid, signal);
}
