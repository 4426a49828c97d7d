const WORDS = new Set(
  ['and', 'or', 'unless', 'bool', 'offset', 'inf', 'nan'].concat([
    ...['by', 'without', 'on', 'ignoring', 'group_left', 'group_right'],
  ]),
);

/** A series selector in a PromQL expression. */
export interface Selector {
  readonly metric: string;
  /** The text between its braces. Empty if it has none. */
  readonly matchers: string;
  /** The function directly around it: `rate` in `rate(x[5m])`. */
  readonly within: string | null;
  /** Its range, `5m` in `x[5m]`. */
  readonly range: string | null;
}

/**
 * The selectors of an expression in the PromQL that rules and dashboards use: every metric has its name before
 * its braces. It does not check the syntax, because promtool does that.
 */
export function selectorsOf(expression: string): Selector[] {
  const found: Selector[] = [];
  // Names in the label lists of grouping clauses are not metrics.
  const text = expression.replaceAll(/\b(by|without|on|ignoring|group_left|group_right) *\([^)]*\)/g, '');
  const pattern = /([a-zA-Z_:][\w:]*)( *\()?(\{(?:"(?:[^"\\]|\\.)*"|[^}"])*\})?(?:\[([^\]]*)\])?/g;
  for (const match of text.matchAll(pattern)) {
    const [, metric, call, braces, range] = match;
    const before = text.slice(0, match.index);
    if (call !== undefined || WORDS.has(metric!.toLowerCase()) || /[\d$.]$/.test(before)) continue;
    found.push({
      metric: metric!,
      matchers: braces?.slice(1, -1) ?? '',
      within: /([a-z_]\w*) *\($/.exec(before)?.[1] ?? null,
      range: range ?? null,
    });
  }
  return found;
}

/**
 * The same values with the name of their board as the label `nodename`. Values without a known board are left out.
 *
 * @param info the metric that names the board: of the node exporter, or of Tidegauge's own processes
 */
export function onBoard(
  expression: string,
  matchers = '',
  info: 'node_uname_info' | 'tidegauge_board_info' = 'node_uname_info',
): string {
  const boards = `max by (instance, nodename) (${info}${matchers === '' ? '' : `{${matchers}}`})`;
  return `(${expression}) * on (instance) group_left (nodename) ${boards}`;
}
