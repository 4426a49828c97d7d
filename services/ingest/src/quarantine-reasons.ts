/** Why messages are in quarantine. The set is closed, because it is a metric label. */
export const QUARANTINE_REASONS = [
  'unknown_topic',
  'empty_payload',
  'malformed',
  'too_large',
  'invalid_value',
  'invalid_time',
  'invalid_name',
  'too_many_readings',
  'unsupported',
  'no_birth',
  'rejected',
  'unexpected',
] as const;
