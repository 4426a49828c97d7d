import { deviceNameProblem, now } from '@tidegauge/readings';
import {
  byteBudget,
  demandWithin,
  limitOf,
  Problem,
  principalOf,
  type ServiceOperation,
  senderOf,
  Turns,
} from '@tidegauge/service';
import express, { type Request, type RequestHandler, type Response } from 'express';
import type { DeliveryTurns } from '../delivery-turns.ts';
import type { BoardDocument } from './boards.ts';
import type { CentreDocument } from './centre-link.ts';
import { dayOfName } from './comparison.ts';
import { dayOf } from './day-digest.ts';
import type { Relay } from './relay.ts';
import { readRelayRequest } from './relay-message.ts';
import { type CentreOptions, takeRelayed } from './take-relayed.ts';

/** Largest body after its decompression, bytes. A board sends a quarter of it. */
const BODY_BYTES = 1024 * 1024;
/** Memory for the bodies of all boards, bytes. */
const BODIES_BYTES = 4 * BODY_BYTES;
/** Days that are compared at once. Each reads the store. */
const COMPARISONS = 2;
/** The path with and without the version, which the URLs of the API have. */
const PATH = '{/v1}/relay';

export interface RelayOperationOptions extends Omit<CentreOptions, 'beyond'> {
  readonly instance: string;
  /** Null: this process relays to no centre. */
  readonly relay: Relay | null;
  readonly deliveries: DeliveryTurns;
}

/** What `GET /relay` answers: the centres of this process, and the boards that relay to it. */
interface RelayDocument {
  readonly instance: string;
  readonly centres: readonly CentreDocument[];
  readonly boards: readonly BoardDocument[];
}

/** The requests of boards, and those about the relay. */
export function relayOperations(options: RelayOperationOptions): readonly ServiceOperation[] {
  const { instance, relay, boards, deliveries } = options;
  const comparisons = new Turns(COMPARISONS);
  const budget = byteBudget(BODIES_BYTES, BODY_BYTES, true);
  const raw = express.raw({ type: () => true, limit: BODY_BYTES, inflate: true });
  const beyond = () => relay?.beyond ?? [];

  const take: RequestHandler = async (request, response) => {
    const sender = { client: senderOf(response), limit: limitOfRequest(request, response) };
    const body: unknown = request.body;
    const sent = readRelayRequest(Buffer.isBuffer(body) ? body : Buffer.alloc(0));
    const work = () => takeRelayed({ ...options, beyond }, sent, sender);
    const answer = await (sent.header.compare === null
      ? deliveries.run(response, sent.payload.length, work)
      : comparisons.run(response, work));
    if (answer !== null) response.status(202).json(answer);
  };
  const get: RequestHandler = (_request, response) => {
    const document: RelayDocument = {
      instance,
      centres: relay?.documents ?? [],
      boards: boards.list(),
    };
    response.json(document);
  };
  const compare: RequestHandler = (request, response) => {
    if (relay === null) throw new Problem(409, 'No relay', 'This process relays to no centre: set RELAY.');
    const { searchParams } = urlOf(request);
    const today = dayOf(now());
    const from = day(searchParams, 'from') ?? today - 1;
    const to = day(searchParams, 'to') ?? today;
    if (from > to) throw bad('from is later than to.');
    relay.compare({ from, to }, device(searchParams));
    response.status(202).json({ instance, centres: relay.documents });
  };
  const remove: RequestHandler = (request, response) => {
    const id = String(request.params.id);
    if (!boards.remove(id)) throw new Problem(404, 'Not found', `There is no board with the id ${id}.`);
    response.status(204).end();
  };
  return [
    {
      id: 'relay',
      method: 'post',
      path: PATH,
      scope: 'write',
      limitsDevices: true,
      isData: true,
      handlers: [budget, raw, take],
    },
    { id: 'getRelay', method: 'get', path: PATH, scope: 'read', handlers: [get] },
    { id: 'compareRelay', method: 'post', path: `${PATH}/compare`, scope: 'admin', handlers: [compare] },
    { id: 'removeBoard', method: 'delete', path: `${PATH}/boards/:id`, scope: 'admin', handlers: [remove] },
  ];
}

/**
 * The device that a request is limited to: that of the key, or the one in the query, which the API adds for a key that
 * is limited there.
 */
function limitOfRequest(request: Request, response: Response): string | null {
  const sent = { principal: principalOf(response) };
  const named = device(urlOf(request).searchParams);
  return named === null ? limitOf(sent) : demandWithin(sent, named);
}

function urlOf(request: Request): URL {
  return new URL(request.originalUrl, 'http://localhost');
}

/** @throws {Problem} 400 */
function device(query: URLSearchParams): string | null {
  const name = query.get('device');
  const problem = name === null ? null : deviceNameProblem(name);
  if (problem !== null) throw bad(`device: ${problem}.`);
  return name;
}

/** @throws {Problem} 400 */
function day(query: URLSearchParams, name: string): number | null {
  const text = query.get(name);
  const found = text === null ? null : dayOfName(text);
  if (text !== null && found === null) throw bad(`${name} must be a day such as 2026-11-23.`);
  return found;
}

function bad(detail: string): Problem {
  return new Problem(400, 'Bad parameter', detail);
}
