// The layout of table rows in a SQLite file: https://sqlite.org/fileformat2.html#b_tree_pages

/** Page size of the file, set when it is created. */
export const PAGE_BYTES = 4096;

/** Bytes of a row's header and numbers, and of its cell in the page. */
const ROW_BYTES = 65;
const CELL_BYTES = 18;
/** An entry of the index, in pages that are two thirds full. */
const INDEX_BYTES = 32;
const IN_PAGE = PAGE_BYTES - 8;
const IN_OVERFLOW = PAGE_BYTES - 4;
/** The largest row that SQLite stores in its page, and the smallest part that it stores there of a larger row. */
const MOST_LOCAL = PAGE_BYTES - 35;
const LEAST_LOCAL = Math.floor(((PAGE_BYTES - 12) * 32) / 255) - 23;

/**
 * The bytes of the file that a row takes: its share of a page, its overflow pages, and its entry in the index.
 *
 * @param content bytes of the row's texts and blobs
 */
export function diskBytes(content: number): number {
  const row = content + ROW_BYTES;
  if (row <= MOST_LOCAL) return shareOfPage(row) + INDEX_BYTES;
  const rest = LEAST_LOCAL + ((row - LEAST_LOCAL) % IN_OVERFLOW);
  const local = rest <= MOST_LOCAL ? rest : LEAST_LOCAL;
  return shareOfPage(local) + INDEX_BYTES + Math.ceil((row - local) / IN_OVERFLOW) * PAGE_BYTES;
}

/** A page holds complete rows only. */
function shareOfPage(bytes: number): number {
  return Math.ceil(PAGE_BYTES / Math.floor(IN_PAGE / (bytes + CELL_BYTES)));
}
