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
 * What a counter that exists from the start of its process grew by within a window. It includes the first value of a
 * series whose process started within the window, which `increase` leaves out.
 *
 * @param seconds the window
 */
export function countedIn(metric: string, seconds: number, matchers = ''): string {
  const series = selector(metric, matchers);
  const grown = `increase(${selector(metric, matchers, `[${seconds}s]`)})`;
  const started = `${selector('process_start_time_seconds', processOf(matchers))} > time() - ${seconds}`;
  return (
    `(${series} unless ${selector(metric, matchers, ` offset ${seconds}s`)}` +
    ` and on (job, instance) ${started}) > ${grown} or ${grown}`
  );
}

/**
 * What a counter grew by within each step of a chart, as whole numbers: a rate of rare events is close to 0, and
 * `increase` makes fractions of them. The first value of a series counts, if its process was scraped one step before or
 * started since then. The values of a process that was only unreachable are old.
 *
 * @param started the metric with the time at which the counter began at 0
 */
export function eventsIn(
  metric: string,
  matchers: string,
  started: 'process_start_time_seconds' | 'node_boot_time_seconds' = 'process_start_time_seconds',
): string {
  const now = selector(metric, matchers);
  const before = selector(metric, matchers, ' offset $__interval');
  const scraped = `${selector('up', processOf(matchers), ' offset $__interval')} == 1`;
  const began = `${selector(started, processOf(matchers))} > time() - $__interval_ms / 1000`;
  return [
    `${now} - ${before} >= 0`,
    // It began again.
    `${now} < ${before}`,
    // It is new.
    `${now} unless ${before} and on (job, instance) (${scraped} or ${began})`,
    `0 * ${now}`,
  ].join(' or ');
}

function selector(metric: string, matchers: string, rest = ''): string {
  return metric + (matchers === '' ? '' : `{${matchers}}`) + rest;
}

/** The matchers of a process among those of a series. */
function processOf(matchers: string): string {
  return matchers.match(/\b(?:job|instance)=~?"[^"]*"/g)?.join(', ') ?? '';
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
