import type { Handlers } from '../dispatch.ts';
import type { LiveHub } from '../live-hub.ts';
import { device, metric, queryOf } from '../parameters.ts';

export function liveHandlers(hub: LiveHub): Handlers {
  return {
    live: (call, response) => {
      const query = queryOf<{ device: string; metric: string }>(call);
      const filter = {
        device: query.device === undefined ? null : device(query.device),
        metric: metric(query.metric) ?? null,
      };
      hub.join(response, filter, call.request.get('Last-Event-ID') ?? null);
    },
  };
}
