const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** A text as HTML, also as the value of an attribute in double quotes. */
export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character]!);
}

/** A line of Markdown as HTML. Code between backticks is the only mark. */
export function inline(text: string): string {
  return escaped(text.trim()).replace(/`([^`]+)`/g, '<code>$1</code>');
}

/** Paragraphs of Markdown as HTML. */
export function prose(text: string): string {
  return text
    .trim()
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${inline(paragraph)}</p>`)
    .join('');
}
