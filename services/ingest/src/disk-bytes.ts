// How SQLite lays out the rows of a table in its file: https://sqlite.org/fileformat2.html#b_tree_pages

/** Size of a page, as set when the file is made. */
export const PAGE_BYTES = 4096;

/** Numbers and the header of a row; the row's place in its page. */
const ROW_BYTES = 56;
const CELL_BYTES = 18;
const IN_PAGE = PAGE_BYTES - 8;
const IN_OVERFLOW = PAGE_BYTES - 4;
/** The most of a row that SQLite keeps in its page, and the least of one that does not fit there. */
const MOST_LOCAL = PAGE_BYTES - 35;
const LEAST_LOCAL = Math.floor(((PAGE_BYTES - 12) * 32) / 255) - 23;

/** What a row with so many bytes of texts and blobs takes of the file: its share of a page, and whole pages besides. */
export function diskBytes(content: number): number {
  const row = content + ROW_BYTES;
  if (row <= MOST_LOCAL) return shareOfPage(row);
  const rest = LEAST_LOCAL + ((row - LEAST_LOCAL) % IN_OVERFLOW);
  const local = rest <= MOST_LOCAL ? rest : LEAST_LOCAL;
  return shareOfPage(local) + Math.ceil((row - local) / IN_OVERFLOW) * PAGE_BYTES;
}

/** A page holds whole rows only. */
function shareOfPage(bytes: number): number {
  return Math.ceil(PAGE_BYTES / Math.floor(IN_PAGE / (bytes + CELL_BYTES)));
}
