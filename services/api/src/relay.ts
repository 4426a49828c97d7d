import { byteBudget, principalOf, senderOf, Turns } from '@tidegauge/service';
import express, { type RequestHandler, Router } from 'express';
import type { IngestClient } from './ingest-client.ts';

/** Where boards send what they relay. It is between processes of Tidegauge, so the OpenAPI document does not have it. */
export const RELAY_PATH = '/v1/relay';
/** Largest body after its decompression, bytes, as ingest accepts it. */
const BODY_BYTES = 1024 * 1024;
/** Memory for the bodies of all boards, bytes. */
const BODIES_BYTES = 4 * BODY_BYTES;
/** Requests of boards that ingest works on at once. */
const RELAYS = 8;

/**
 * Passes requests of boards on to ingest, and shows the relay of all ingest processes.
 *
 * @param asking the turns of requests that ask ingest
 */
export function relayRoutes(ingest: IngestClient, asking: Turns): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const turns = new Turns(RELAYS);
  const budget = byteBudget(BODIES_BYTES, BODY_BYTES, true);
  const raw = express.raw({ type: () => true, limit: BODY_BYTES, inflate: true });

  router.post(RELAY_PATH, named, budget, raw, async (request, response) => {
    const sent: unknown = request.body;
    const answer = await turns.run(response, () =>
      ingest.relay({
        body: Buffer.isBuffer(sent) ? sent : Buffer.alloc(0),
        device: principalOf(response).devices,
        sender: senderOf(response),
      }),
    );
    if (answer !== null) response.status(202).json(answer);
  });
  router.get(RELAY_PATH, named, async (_request, response) => {
    const found = await asking.run(response, () => ingest.relays());
    if (found === null) return;
    const { answers, unreachable } = found;
    response.json({ instances: answers.map(({ value }) => value), unreachable });
  });
  return router;
}

/** The route's name in the metrics. */
const named: RequestHandler = (_request, response, next) => {
  response.locals.route = RELAY_PATH;
  next();
};
