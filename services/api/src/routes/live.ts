import { demandWithin, limitOf } from '@tidegauge/service';
import type { Handlers } from '../dispatch.ts';
import type { LiveHub } from '../live-hub.ts';
import { device, metric, queryOf } from '../parameters.ts';

export function liveHandlers(hub: LiveHub): Handlers {
  return {
    live: (call, response) => {
      const query = queryOf<{ device: string; metric: string }>(call);
      const filter = {
        device: query.device === undefined ? limitOf(call) : demandWithin(call, device(query.device)),
        metric: metric(query.metric) ?? null,
      };
      const isLimited = limitOf(call) !== null;
      const viewer = { isLimited, isCurrent: () => call.principal.isCurrent() };
      return hub.join(
        response,
        filter,
        isLimited ? null : (call.request.get('Last-Event-ID') ?? null),
        viewer,
      );
    },
  };
}
