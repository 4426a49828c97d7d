import type { Audit } from '@tidegauge/service';
import type { Handlers } from '../dispatch.ts';
import { queryOf } from '../parameters.ts';

export function auditHandlers(audit: Audit): Handlers {
  return {
    listAudit: (call, response) => {
      const { limit = 100 } = queryOf<{ limit: number }>(call);
      response.setHeader('Cache-Control', 'no-store');
      response.json({ entries: audit.list(limit) });
    },
  };
}
