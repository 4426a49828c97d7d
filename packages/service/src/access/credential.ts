/**
 * The token or key in the header `Authorization`; null when it has none. The header can be `Bearer <key>` (RFC 6750),
 * `Token <key>` (InfluxDB 2), or `Basic` with the key as the password (RFC 7617), which some devices can send only.
 */
export function credentialOf(authorization: string): string | null {
  const [, scheme, text] = /^(Bearer|Token|Basic) +(\S+)$/i.exec(authorization) ?? [];
  if (text === undefined) return null;
  return scheme!.toLowerCase() === 'basic' ? passwordOf(text) : text;
}

function passwordOf(base64: string): string | null {
  const text = Buffer.from(base64, 'base64').toString();
  const colon = text.indexOf(':');
  return colon === -1 || colon === text.length - 1 ? null : text.slice(colon + 1);
}
