import type { Metrics } from '@tidegauge/service';
import type { ResendPlan } from './resend-plan.ts';

/** Registers the metrics of requests for missing readings. All are 0 when nothing is requested. */
export function measureResend(metrics: Metrics, plan: ResendPlan | null): void {
  metrics.counter(
    'tidegauge_resend_requests_total',
    'Requests to sensors to send missing readings again',
    () => [{ value: plan?.requests ?? 0 }],
  );
  metrics.gauge(
    'tidegauge_resend_devices',
    'Devices with missing readings that are requested from their sensors',
    () => [{ value: plan?.devices ?? 0 }],
  );
}
