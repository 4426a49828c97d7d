import { bytes, duration } from '@tidegauge/service/program';
import type { ValidityLimits } from '../model.ts';
import type { StudyInput } from './study-input.ts';

const LIMITS: ValidityLimits = {
  dropped: 0,
  errors: 0,
  damaged: 0,
  target: 0.98,
  throttled: 0.05,
  clockStepMs: 100,
  oomKills: 0,
  swapBytes: 16 * 2 ** 20,
  foreignCpu: 0.25,
  network: 0.2,
  carryOver: 1,
};

/** The limits of the validity rules: those of the file, and the defaults. */
export function validityOf(input: StudyInput): ValidityLimits {
  const { clockStep, swap, ...numbers } = input.file.valid ?? {};
  const limits = { ...LIMITS, ...(numbers as Partial<ValidityLimits>) };
  const milliseconds = () => Math.round(duration(0, 3600).parse(String(clockStep)) * 1000);
  const size = () => bytes(0, Number.MAX_SAFE_INTEGER).parse(String(swap));
  return {
    ...limits,
    ...(clockStep === undefined
      ? {}
      : { clockStepMs: clockStep && input.parsed(['valid', 'clockStep'], milliseconds) }),
    ...(swap === undefined
      ? {}
      : { swapBytes: swap === null ? null : input.parsed(['valid', 'swap'], size) }),
  } as ValidityLimits;
}
