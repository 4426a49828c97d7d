// The live feed. EventSource reconnects after a lost connection, with Last-Event-ID. When the server refuses the stream
// (too many clients), EventSource stops, and this module opens a new one later.

const RETRY_MS = 5000;

/**
 * Follows /v1/live until the page is closed.
 * `on.readings(list)`, `on.gap()`, `on.state('live' | 'lost')`.
 */
export function follow(on) {
  const source = new EventSource('v1/live');
  source.addEventListener('open', () => on.state('live'));
  source.addEventListener('readings', (event) => on.readings(JSON.parse(event.data).readings));
  source.addEventListener('gap', () => on.gap());
  source.addEventListener('error', () => {
    on.state('lost');
    if (source.readyState !== EventSource.CLOSED) return;
    setTimeout(() => follow(on), RETRY_MS * (0.5 + Math.random()));
  });
}
