import type { ServerHandlers } from '@tidegauge/mqtt-session/server';
import type { Logger } from '@tidegauge/service';

type Refused = Parameters<ServerHandlers['onRefused']>[0];

/** One line for each reason in this time; it has the number of those that were left out. */
const INTERVAL_MS = 10_000;
const SHOWN = 200;

/** Logs refusals of clients, with a bound: a hostile client must not fill the disk. */
export class RefusalLog {
  readonly #logger: Logger;
  readonly #byReason = new Map<string, { until: number; left: number }>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  note({ reason, address, user, clientId, detail }: Refused): void {
    const now = performance.now();
    const state = this.#byReason.get(reason) ?? { until: 0, left: 0 };
    this.#byReason.set(reason, state);
    if (now < state.until) {
      state.left += 1;
      return;
    }
    const more = state.left === 0 ? {} : { notLogged: state.left };
    Object.assign(state, { until: now + INTERVAL_MS, left: 0 });
    const fields = {
      reason,
      address,
      user,
      clientId: clientId?.slice(0, SHOWN),
      detail: detail.slice(0, SHOWN),
    };
    this.#logger.warn({ ...fields, ...more }, 'a sensor was refused, or its connection was ended');
  }
}
