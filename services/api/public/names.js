// Names as people read them. A character that names cannot have is stored as `~` and the hexadecimal digits of each of
// its UTF-8 bytes: `Living~20Room`.

const ESCAPES = /(?:~[0-9A-F]{2})+/g;
/**
 * Characters that are shown. Others stay as they are stored, so that two names never look the same: what names can have
 * themselves, `/`, and what is invisible, changes the direction of the text, or looks like another character.
 */
const SHOWN = /[ !"#$%&'()*+,;<=>?[\\\]^`{}§°±£€]|(?=\p{Emoji})\p{So}/u;
/** Spaces that a browser would not show, or that could not be counted. */
const UNCLEAR_SPACE = /(?<![^ /]) | (?![^ /])/g;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The name of a device, metric or site for people. It is a text, not HTML. */
export function nameText(name) {
  return name.replace(ESCAPES, shown).replace(UNCLEAR_SPACE, '~20');
}

function shown(escapes) {
  const bytes = escapes
    .slice(1)
    .split('~')
    .map((digits) => Number.parseInt(digits, 16));
  try {
    return Array.from(utf8.decode(new Uint8Array(bytes)), (each) =>
      SHOWN.test(each) ? each : escaped(each),
    ).join('');
  } catch {
    // A name of a topic can have what only looks like this.
    return escapes;
  }
}

function escaped(character) {
  return Array.from(
    new TextEncoder().encode(character),
    (byte) => `~${byte.toString(16).toUpperCase().padStart(2, '0')}`,
  ).join('');
}
