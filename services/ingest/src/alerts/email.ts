import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { ConfigError, isLoopback } from '@tidegauge/service';
import type { SMTPTransportGetSocket } from 'nodemailer/lib/smtp-transport';
import { NoticeRefused, type Send } from './channel.ts';
import { noticeText } from './notice-text.ts';

/** For a message, milliseconds: a mail server looks up the sender before it answers. */
const TIMEOUT_MS = 20_000;
/** RFC 5321, section 4.5.3.1.3, without the angle brackets. */
const MOST_ADDRESS = 254;
const ADDRESS = /^[^\s@<>(),;:"\\[\]]+@[^\s@<>(),;:"\\[\]]+$/;
/** Characters of an answer of the server in an error. */
const MOST_REASON = 300;

/** An SMTP server that takes messages for others. */
export interface MailServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte. Otherwise STARTTLS, which a login needs. */
  readonly isTls: boolean;
  readonly login: { readonly user: string; readonly pass: string } | null;
}

export interface EmailOptions {
  readonly server: MailServer;
  readonly from: string;
  readonly to: string;
}

/**
 * Reads the URL of a mail server: `smtps://HOST` (TLS, port 465) or `smtp://HOST` (STARTTLS, port 587).
 *
 * @param user and password, in place of those of the URL
 * @throws {ConfigError} without a part of the URL, which can have a password
 */
export function mailServerOf(url: string, user?: string, password?: string): MailServer {
  const parsed = URL.parse(url);
  if (parsed === null || !/^smtps?:\/\/[^/?#]+\/?$/.test(url))
    throw new ConfigError(['the mail server must be smtps://HOST or smtp://HOST, possibly with a port']);
  const { protocol, hostname, port, username } = parsed;
  const isTls = protocol === 'smtps:';
  const login = { user: user ?? decoded(username), pass: password ?? decoded(parsed.password) };
  if ((login.user === '') !== (login.pass === ''))
    throw new ConfigError(['user and password of the mail server need each other: give both or neither']);
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || (isTls ? 465 : 587)),
    isTls,
    login: login.user === '' ? null : login,
  };
}

/** @throws {ConfigError} */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ConfigError([
      'the URL of the mail server has a % that does not begin an escape: write % as %25',
    ]);
  }
}

/**
 * Sends messages about alerts by SMTP. A message takes at most 20 seconds. A password is sent through TLS only, to a server
 * whose certificate is valid for its name.
 *
 * @throws {ConfigError} when an address cannot be used
 */
export function email({ server, from, to }: EmailOptions): Send {
  for (const [key, address] of Object.entries({ from, to })) {
    if (address.length > MOST_ADDRESS || !ADDRESS.test(address))
      throw new ConfigError([`${key} must be one e-mail address, such as me@example.org`]);
  }
  const domain = from.slice(from.indexOf('@'));
  return async (notice, signal) => {
    const { createTransport } = await import('nodemailer');
    const { title, text } = noticeText(notice);
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const { host, port, isTls, login } = server;
    const getSocket: SMTPTransportGetSocket = (_options, done) =>
      void open(server, limit).then(
        (connection) => done(null, { connection }),
        (error: Error) => done(error, false),
      );
    const transport = createTransport({
      host,
      port,
      secure: isTls,
      requireTLS: login !== null,
      forceAuth: login !== null,
      // A mail server of this machine has no certificate for its name.
      ignoreTLS: login === null && isLoopback(host),
      ...(login === null ? {} : { auth: login }),
      ...(isIP(host) === 0 ? { tls: { servername: host } } : {}),
      // Its own limits are of parts of a delivery. The end of the signal closes this connection.
      getSocket,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    const message = {
      from,
      to,
      subject: title,
      text: `${text}\n`,
      // The same in each attempt.
      messageId: `<${notice.alert.id}.${notice.event}${domain}>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
    };
    await transport.sendMail(message).catch((error: Error) => {
      throw failureOf(error, limit);
    });
  };
}

async function open({ host, port }: MailServer, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ host, port, signal });
  // Also later, when the signal ends a connection that nobody uses any more.
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** A refusal is final where the server answers 5yz (RFC 5321, section 4.2.1). */
function failureOf(error: Error, limit: AbortSignal): Error {
  if (limit.aborted) return new Error('the mail server did not answer in time', { cause: error });
  const text = `the mail server did not take the message: ${error.message.slice(0, MOST_REASON)}`;
  const { responseCode = 0 } = error as { readonly responseCode?: number };
  return responseCode >= 500 ? new NoticeRefused(text, { cause: error }) : new Error(text, { cause: error });
}
