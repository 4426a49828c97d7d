import { DecodeError, now } from '@tidegauge/readings';
import { isWithin, Problem } from '@tidegauge/service';
import { isDamaged, type Store, StoreError } from '@tidegauge/storage';
import type { Part } from '../part.ts';
import type { Pipeline } from '../pipeline.ts';
import { checkTaking } from '../quarantine-steps.ts';
import { type Decoded, decodeMessage, relayedMessage } from '../raw-message.ts';
import type { Router } from '../routes.ts';
import type { Boards, Counts } from './boards.ts';
import { dayFigures } from './day-digest.ts';
import { type DayOfDevice, MOST_NAMED, type RelayAnswer, type RelayRequest } from './relay-message.ts';

export interface CentreOptions {
  readonly pipeline: Pipeline;
  readonly router: Router;
  readonly store: Store;
  readonly boards: Boards;
  /** Ids of the processes to which this one relays, directly and indirectly. */
  readonly beyond: () => readonly string[];
}

/** Who sends a request, and the device that the sender is limited to; null without a limit. */
export interface RelaySender {
  readonly client: string;
  readonly limit: string | null;
}

/**
 * Takes a request of a board. Resolves when its readings are settled and its devices are stored.
 *
 * @throws {Problem} 503 when readings cannot be stored now, 508 for a loop, 429. The board sends the request again, which
 *   changes nothing that is stored already
 */
export async function takeRelayed(
  options: CentreOptions,
  request: RelayRequest,
  sender: RelaySender,
): Promise<RelayAnswer> {
  try {
    return await take(options, request, sender);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new Problem(503, 'Cannot store now', 'The store of the centre is unavailable.', { retryAfter: 5 });
  }
}

async function take(
  { pipeline, router, store, boards, beyond }: CentreOptions,
  { header, payload }: RelayRequest,
  { client, limit }: RelaySender,
): Promise<RelayAnswer> {
  const ids = beyond();
  if (header.board === boards.id || ids.includes(header.board)) {
    const detail = `This process relays to ${header.name}, directly or over others, so it takes nothing from it.`;
    throw new Problem(508, 'Relay loop', detail);
  }
  boards.contact(header, client);
  const refused = new Refused();
  for (const device of header.devices)
    await refused.orCall(limit, device.name, () => store.devices.put(device));
  let counts: Omit<Counts, 'refused'> = { received: 0, stored: 0, duplicate: 0, quarantined: 0 };
  if (payload.length > 0) {
    checkTaking(pipeline);
    const message = relayedMessage(payload);
    const found = decodeMessage(router, message, now());
    const kept = found instanceof DecodeError ? found : within(limit, found, refused);
    if (kept instanceof DecodeError || kept.readings.length > 0) {
      const part = kept instanceof DecodeError ? null : kept.part;
      counts = await pipeline.take({ ...message, part }, kept, client);
    }
  }
  const compared = header.compare === null ? null : await compare(store, header.compare, limit, refused);
  const answer = {
    ...counts,
    centre: boards.id,
    beyond: ids,
    refused: refused.count,
    refusedDevices: [...refused.devices],
    compared,
  };
  boards.count(header.board, answer);
  return answer;
}

/** Compares a day with that of the store; null when it is refused, or when a part of it is damaged here. */
async function compare(
  store: Store,
  { device, day, until, count, digest }: DayOfDevice,
  limit: string | null,
  refused: Refused,
): Promise<RelayAnswer['compared']> {
  const figures = () => dayFigures(store, device, day, until);
  const own = await refused.orCall(limit, device, figures).catch((error: unknown) => {
    if (!isDamaged(error)) throw error;
    return null;
  });
  if (own === null) return null;
  return { isEqual: own.count === count && own.digest === digest, count: own.count };
}

/** The readings that the sender may send. */
function within(limit: string | null, decoded: Decoded, refused: Refused): Decoded {
  if (limit === null) return decoded;
  const { readings, units } = decoded;
  const places: number[] = [];
  for (const [index, { device }] of readings.entries()) {
    if (isWithin(limit, device)) places.push(index);
    else refused.add(device);
  }
  if (places.length === readings.length) return decoded;
  const part: Part = { of: readings.length, places };
  return { readings: places.map((place) => readings[place]!), part, units };
}

/** What is not stored, because it is not of the sender's devices or the store refuses it. */
class Refused {
  count = 0;
  readonly devices = new Set<string>();

  add(device: string): void {
    this.count++;
    if (this.devices.size < MOST_NAMED) this.devices.add(device.slice(0, 200));
  }

  /** Calls the store for a device that the sender may use. Resolves to null if it may not, or if the store rejects it. */
  async orCall<T>(limit: string | null, device: string, call: () => Promise<T>): Promise<T | null> {
    try {
      if (isWithin(limit, device)) return await call();
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'REJECTED') throw error;
    }
    this.add(device);
    return null;
  }
}
