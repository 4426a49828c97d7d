import type { ServerResponse } from 'node:http';
import { SECURITY_HEADERS } from '@tidegauge/service';

const HEADERS = { ...SECURITY_HEADERS, 'Content-Type': 'application/json; charset=utf-8' } as const;

/**
 * Answers with 200 and a JSON text, with or without Express. A text of ASCII is the same in Latin-1, which Node writes
 * without a conversion.
 */
export function sendJson(response: ServerResponse, text: string): void {
  const bytes = Buffer.byteLength(text);
  response.writeHead(200, { ...HEADERS, 'Content-Length': bytes });
  response.end(text, bytes === text.length ? 'latin1' : 'utf8');
}

/** Begins an answer with 200 and a JSON text of unknown length. */
export function beginJson(response: ServerResponse): void {
  response.writeHead(200, HEADERS);
}
