import { COMMA_SEPARATED } from './generated/comma-separated.ts';

/**
 * Writes a query as the OpenAPI document describes it: items of a list as repeated parameters or separated by commas, and
 * the fields of an object as parameters. Parameters that are undefined or null are left out.
 */
export function serializeQuery(query: Readonly<Record<string, unknown>>): string {
  return parametersOf(query)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    .join('&');
}

function parametersOf(query: Readonly<Record<string, unknown>>): [string, unknown][] {
  return Object.entries(query).flatMap(([name, value]): [string, unknown][] => {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) {
      return COMMA_SEPARATED.has(name) ? [[name, value.join(',')]] : value.map((item) => [name, item]);
    }
    if (typeof value === 'object') return parametersOf(value as Record<string, unknown>);
    return [[name, value]];
  });
}
