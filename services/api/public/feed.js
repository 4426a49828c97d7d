// The live feed. EventSource comes back by itself after a cut, with Last-Event-ID; where the server refuses
// (too many clients) it gives up, and we start anew after a while.

const RETRY_MS = 5000;

/**
 * Follows /v1/live for as long as the page lives.
 * `on.readings(list)`, `on.gap()`, `on.state('live' | 'lost')`.
 */
export function follow(on) {
  const source = new EventSource('/v1/live');
  source.addEventListener('open', () => on.state('live'));
  source.addEventListener('readings', (event) => on.readings(JSON.parse(event.data).readings));
  source.addEventListener('gap', () => on.gap());
  source.addEventListener('error', () => {
    on.state('lost');
    if (source.readyState !== EventSource.CLOSED) return;
    setTimeout(() => follow(on), RETRY_MS * (0.5 + Math.random()));
  });
}
