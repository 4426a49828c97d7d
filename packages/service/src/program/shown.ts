import { maskUrl, maskUrls } from '@tidegauge/text';

/**
 * A text that is safe to print: the password of any URL is masked, whichever setting it belongs to.
 *
 * @param separator what is between the values of a list. Default: it is one value.
 */
export function shown(text: string, separator?: string): string {
  if (separator !== undefined)
    return text
      .split(separator)
      .map((part) => shown(part.trim()))
      .join(separator);
  return /^[a-z][a-z0-9+.-]*:/i.test(text) ? maskUrl(text) : maskUrls(text);
}
