import type { AuditLog } from '@tidegauge/service';
import type { Handlers } from '../dispatch.ts';
import { queryOf } from '../parameters.ts';

export function auditHandlers(audit: AuditLog): Handlers {
  return {
    listAudit: async (call, response) => {
      const { limit = 100 } = queryOf<{ limit: number }>(call);
      response.setHeader('Cache-Control', 'no-store');
      response.json({ entries: await audit.list(limit) });
    },
  };
}
