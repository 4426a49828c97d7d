/** What the codes of the operating system, of name resolution and of undici mean. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission',
  EADDRINUSE: 'another program listens there',
  EADDRNOTAVAIL: 'this machine does not have the address',
  EAI_AGAIN: 'the name cannot be resolved now',
  ECONNREFUSED: 'no program listens there',
  ECONNRESET: 'the connection was closed',
  EDQUOT: 'the quota of this user is used up',
  EEXIST: 'it exists',
  EHOSTUNREACH: 'there is no route to the host',
  EISDIR: 'it is a directory',
  ENETUNREACH: 'there is no route to the network',
  ENOENT: 'there is no such file or directory',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is not a directory',
  ENOTFOUND: 'there is no host with this name',
  EROFS: 'the file system is read-only',
  ETIMEDOUT: 'there was no answer in time',
  UND_ERR_SOCKET: 'the connection was closed',
};

/** Of a directory that is created with those that it is in. Node.js reports a read-only file system as ENOENT. */
const MKDIR_REASONS: Readonly<Record<string, string>> = {
  EEXIST: 'it is a file',
  ENOENT: 'it cannot be created: the file system is read-only, or a part of its path is gone',
};

/**
 * The reason in an error of the system, for a message that names the file or the address:
 * `there is no such file or directory (ENOENT)`. Of another error: its message.
 */
export function whyFailed(error: unknown): string {
  const { code, syscall, message, name, errors } = error as NodeJS.ErrnoException & {
    readonly errors?: readonly Error[];
  };
  const lacksProgram = code === 'ENOENT' && syscall?.startsWith('spawn');
  const words = lacksProgram
    ? 'there is no such program'
    : ((syscall === 'mkdir' ? MKDIR_REASONS[code ?? ''] : undefined) ?? REASONS[code ?? '']);
  // When a name has several addresses, a list has the error of each.
  return words === undefined ? message || errors?.[0]?.message || name : `${words} (${code})`;
}

/**
 * An error of the system with its file or address: `plan.json: there is no such file or directory (ENOENT)`. Of another
 * error: its message.
 */
export function whatFailed(error: Error): string {
  const { code, syscall, path, address, port, hostname, message } = error as NodeJS.ErrnoException & {
    readonly address?: string;
    readonly port?: number;
    readonly hostname?: string;
  };
  if (syscall === undefined || !isExplained(code)) return message;
  const place = path ?? (port === undefined ? hostname : `${address}:${port}`);
  return place === undefined ? message : `${place}: ${whyFailed(error)}`;
}

/** Whether `whyFailed` has words for a code. */
export function isExplained(code: unknown): code is string {
  return typeof code === 'string' && Object.hasOwn(REASONS, code);
}
