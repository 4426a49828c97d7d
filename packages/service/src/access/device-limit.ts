import { Problem } from '../problem.ts';
import { isWithin, type Principal } from './principal.ts';

/** The part of a request that these functions use. */
interface Sent {
  readonly principal: Principal;
}

/** The device that the sender of a request is limited to; null when it may use all devices. */
export function limitOf({ principal }: Sent): string | null {
  return principal.devices;
}

/**
 * Refuses a device that the sender may not use. The answer is the same whether the device exists or not.
 *
 * @throws {Problem} 403
 */
export function demandWithin(sent: Sent, device: string): string {
  if (!isWithin(limitOf(sent), device)) throw outside(sent);
  return device;
}

/**
 * Refuses a request for many devices that cannot be limited to those of the sender.
 *
 * @throws {Problem} 403
 */
export function demandUnlimited(sent: Sent): void {
  if (limitOf(sent) !== null) throw outside(sent);
}

function outside(sent: Sent): Problem {
  const detail = `The key is limited to ${limitOf(sent)} and the devices below it, and this request concerns other devices too.`;
  return new Problem(403, 'Forbidden', detail);
}
