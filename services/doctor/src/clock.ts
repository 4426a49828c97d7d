import { error, type Finding, ok, unknown, warning } from './finding.ts';
import { type HostFiles, match } from './host-files.ts';
import { duration } from './units.ts';

/** Another clock beside ours. */
export interface Comparison {
  readonly source: string;
  /** That clock minus ours, seconds; null when it did not answer, and `why`. */
  readonly offset: number | null;
  /** How far off the measurement itself can be, seconds. */
  readonly uncertainty: number;
  readonly why?: string;
}

export interface Clock {
  /** What keeps the time here. */
  readonly keeper: 'timesyncd' | 'chrony' | 'ntpd' | null;
  /** Whether it says it has the time; null when it cannot be asked without its own tools. */
  readonly synchronised: boolean | null;
  /** The first server it is told to ask. */
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

/** Beyond this a reading counts as skewed (docs of ingest); a tenth of it is told. */
const SKEWED_SECONDS = 60;
const TOLD_SECONDS = 0.5;

export function checkClock(clock: Clock, comparisons: readonly Comparison[]): Finding[] {
  const agreed = comparisons.some(({ offset, uncertainty }) => offset !== null && uncertainty < TOLD_SECONDS);
  return [checkKeeper(clock, agreed), ...comparisons.map(compare)];
}

const MEND =
  'timedatectl set-ntp true, or apt install chrony; a Raspberry Pi has no clock that runs while it is off';

function checkKeeper({ keeper, synchronised }: Clock, measured: boolean): Finding {
  const check = 'clock.synchronised';
  if (synchronised === true) return ok(check, `${keeper} has synchronised it`);
  if (synchronised === false) {
    return error(
      check,
      `${keeper} runs, but has not reached a server since boot: readings get wrong times`,
      MEND,
    );
  }
  if (keeper !== null) {
    return measured
      ? ok(check, `${keeper} keeps it`)
      : unknown(
          check,
          `${keeper} runs; whether it has the time is not told without its own tools`,
          'say --ntp HOST to compare',
        );
  }
  return measured
    ? warning(check, 'nothing seen here keeps it right, though it is right now', MEND)
    : unknown(
        check,
        'no timesyncd, chrony or ntpd seen, and nothing to compare with',
        `say --ntp HOST to compare; ${MEND}`,
      );
}

function compare({ source, offset, uncertainty, why }: Comparison): Finding {
  const check = 'clock.offset';
  if (offset === null) {
    return unknown(
      check,
      `${source} did not tell its time: ${why ?? 'no answer'}`,
      'check its name and the way to it',
    );
  }
  const off = Math.abs(offset) - uncertainty;
  const says =
    off <= TOLD_SECONDS
      ? `agrees with ${source} to ${duration(Math.max(Math.abs(offset), uncertainty))}`
      : `${duration(Math.abs(offset))} ${offset > 0 ? 'behind' : 'ahead of'} ${source}`;
  if (off <= TOLD_SECONDS) return ok(check, says);
  const skewed = `${says}${off > SKEWED_SECONDS ? ': readings are marked skewed, beyond a day refused' : ''}`;
  return off > SKEWED_SECONDS ? error(check, skewed, MEND) : warning(check, says, MEND);
}
