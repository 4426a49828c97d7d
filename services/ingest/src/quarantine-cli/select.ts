import type { QuarantineDocument } from '@tidegauge/readings';

/** Which items a command selects. Null selects any. */
export interface ItemFilter {
  readonly reason: string | null;
  /** An MQTT topic filter, with `+` and `#`. */
  readonly topic: string | null;
  /** The name of a device: consecutive levels of the topic. */
  readonly device: string | null;
}

/** Whether the filter needs more than the reason, which ingest selects itself. */
export function isByTopic({ topic, device }: ItemFilter): boolean {
  return topic !== null || device !== null;
}

/**
 * Whether an item is selected. Ingest shortens long topics in lists; of those, the beginning is compared.
 */
export function isSelected(
  { reason, topic, device }: ItemFilter,
  item: Pick<QuarantineDocument, 'reason' | 'topic'>,
): boolean {
  if (reason !== null && item.reason !== reason) return false;
  if (topic !== null && !matches(topic, item.topic)) return false;
  return device === null || `/${item.topic}/`.includes(`/${device}/`);
}

/** MQTT 5.0, section 4.7. */
function matches(filter: string, topic: string): boolean {
  const levels = topic.split('/');
  const wanted = filter.split('/');
  for (const [index, level] of wanted.entries()) {
    if (level === '#') return true;
    if (index >= levels.length || (level !== '+' && level !== levels[index])) return false;
  }
  return wanted.length === levels.length;
}
