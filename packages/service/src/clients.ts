/**
 * The client of an address. Both forms of an IPv4 address are one client. Of an IPv6 address the first 64 bits are
 * the client, because one machine can use all addresses below them.
 */
export function clientOf(address: string | undefined): string {
  if (address === undefined) return 'unknown';
  if (!address.includes(':')) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped !== null) return mapped[1]!;
  const [head = '', tail] = address.split('%', 1)[0]!.split('::') as [string, string?];
  const groups = head === '' ? [] : head.split(':');
  const behind = tail === undefined || tail === '' ? [] : tail.split(':');
  const all = [
    ...groups,
    ...new Array<string>(Math.max(8 - groups.length - behind.length, 0)).fill('0'),
    ...behind,
  ];
  return `${all.slice(0, 4).join(':')}::/64`;
}
