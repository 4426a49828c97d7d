import { error, type Finding, ok, unknown, warning } from './finding.ts';
import { type HostFiles, match } from './host-files.ts';
import { duration } from './units.ts';

/** The comparison with another clock. */
export interface Comparison {
  readonly source: string;
  /** The other clock minus this one, seconds; null when it did not answer, with the reason in `why`. */
  readonly offset: number | null;
  /** Uncertainty of the measurement, seconds. */
  readonly uncertainty: number;
  readonly why?: string;
}

export interface Clock {
  /** The program that sets the clock. */
  readonly keeper: 'timesyncd' | 'chrony' | 'ntpd' | null;
  /** Whether it reports that the clock is synchronised. null: only its own tools show this. */
  readonly synchronised: boolean | null;
  /** The first time server in its configuration. */
  readonly server: string | null;
}

const SERVERS = [
  ['/etc/systemd/timesyncd.conf', /^\s*NTP\s*=\s*([^\s#]+)/m],
  ['/etc/chrony/chrony.conf', /^\s*(?:server|pool|peer)\s+([^\s#]+)/m],
  ['/etc/chrony.conf', /^\s*(?:server|pool|peer)\s+([^\s#]+)/m],
  ['/etc/ntpsec/ntp.conf', /^\s*(?:server|pool|peer)\s+([^\s#]+)/m],
  ['/etc/ntp.conf', /^\s*(?:server|pool|peer)\s+([^\s#]+)/m],
] as const;

export function readClock(files: HostFiles): Clock {
  const server = SERVERS.map(([path, pattern]) => match(files, path, pattern)).find(
    (found) => found !== null,
  );
  const timesync = files.list('/run/systemd/timesync');
  if (files.list('/run/chrony') !== null)
    return { keeper: 'chrony', synchronised: null, server: server ?? null };
  if (timesync !== null) {
    // systemd-timesyncd(8): the file is touched at each synchronisation since boot.
    return { keeper: 'timesyncd', synchronised: timesync.includes('synchronized'), server: server ?? null };
  }
  const ntpd = ['/run/ntpd.pid', '/var/run/ntpd.pid'].some((path) => files.text(path) !== null);
  return { keeper: ntpd ? 'ntpd' : null, synchronised: null, server: server ?? null };
}

/** Above this, ingest marks readings as skewed; above TOLD_SECONDS, the offset is a warning. */
const SKEWED_SECONDS = 60;
const TOLD_SECONDS = 0.5;

export function checkClock(clock: Clock, comparisons: readonly Comparison[]): Finding[] {
  const agreed = comparisons.some(({ offset, uncertainty }) => offset !== null && uncertainty < TOLD_SECONDS);
  return [checkKeeper(clock, agreed), ...comparisons.map(compare)];
}

const FIX =
  'run timedatectl set-ntp true, or apt install chrony; the clock of a Raspberry Pi stops while it is off';

function checkKeeper({ keeper, synchronised }: Clock, measured: boolean): Finding {
  const check = 'clock.synchronised';
  if (synchronised === true) return ok(check, `${keeper} has synchronised the clock`);
  if (synchronised === false) {
    return error(
      check,
      `${keeper} runs, but has not reached a server since boot: readings get wrong times`,
      FIX,
    );
  }
  if (keeper !== null) {
    return measured
      ? ok(check, `${keeper} sets the clock`)
      : unknown(
          check,
          `${keeper} runs; only its own tools report whether it is synchronised`,
          'set --ntp HOST to compare',
        );
  }
  return measured
    ? warning(check, 'no time service was found, although the clock is right now', FIX)
    : unknown(
        check,
        'no timesyncd, chrony or ntpd was found, and there is no clock to compare with',
        `set --ntp HOST to compare; ${FIX}`,
      );
}

function compare({ source, offset, uncertainty, why }: Comparison): Finding {
  const check = 'clock.offset';
  if (offset === null) {
    return unknown(
      check,
      `${source} did not report its time: ${why ?? 'no answer'}`,
      'check its name and the network to it',
    );
  }
  const off = Math.abs(offset) - uncertainty;
  const message =
    off <= TOLD_SECONDS
      ? `agrees with ${source} to ${duration(Math.max(Math.abs(offset), uncertainty))}`
      : `${duration(Math.abs(offset))} ${offset > 0 ? 'behind' : 'ahead of'} ${source}`;
  if (off <= TOLD_SECONDS) return ok(check, message);
  const skewed = `${message}${off > SKEWED_SECONDS ? ': readings are marked skewed, and quarantined above one day' : ''}`;
  return off > SKEWED_SECONDS ? error(check, skewed, FIX) : warning(check, message, FIX);
}
