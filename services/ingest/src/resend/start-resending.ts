import type { Config } from '@tidegauge/service';
import type { BrokerSource } from '../broker-source.ts';
import type { DirectSource } from '../direct/direct-source.ts';
import type { Pipeline } from '../pipeline.ts';
import type { Router } from '../routes.ts';
import type { settings } from '../settings.ts';
import { ResendPlan, type SendRequest } from './resend-plan.ts';
import { resendTopic } from './topic.ts';

const EVERY_MS = 1000;

interface Parts {
  readonly pipeline: Pipeline;
  readonly router: Router;
  readonly broker: BrokerSource | null;
  readonly direct: DirectSource | null;
}

/**
 * Requests missing readings from their sensors, through the broker and from those that are connected to ingest itself.
 * Replicas that share a subscription receive a part of the numbers each, so they request nothing.
 *
 * @returns null when nothing is requested
 */
export function startResending(
  { resend, shareGroup }: Config<typeof settings>,
  { pipeline, router, broker, direct }: Parts,
): { readonly plan: ResendPlan; stop(): void } | null {
  if (!resend || shareGroup !== null) return null;
  const send: SendRequest = (request) => {
    const topic = resendTopic(request.device);
    const payload = Buffer.from(JSON.stringify(request));
    const isSent = direct?.server.publish(topic, payload) ?? false;
    // A route that takes the topic would make readings of the request.
    const isPublished =
      broker !== null && router.resolve(topic).route === null && broker.session.publish(topic, payload);
    return isSent || isPublished;
  };
  const plan = new ResendPlan(pipeline.sequences, send);
  const timer = setInterval(() => {
    const isHeard = broker !== null || direct?.server.subscribers.isEmpty === false;
    // What is sent again would add to what waits.
    const isBusy = pipeline.full || pipeline.trouble !== null || pipeline.accounts.spooled > 0;
    if (!isHeard || isBusy || pipeline.stopping) return;
    plan.tick(performance.now(), pipeline.accounts.messages);
  }, EVERY_MS);
  timer.unref();
  return { plan, stop: () => clearInterval(timer) };
}
