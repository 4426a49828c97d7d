export {
  Access,
  type AccessOptions,
  keepPrincipal,
  principalOf,
  SENDER_HEADER,
  senderOf,
} from './access.ts';
export * from './api-key.ts';
export { Audit, type AuditEntry, type AuditLog } from './audit.ts';
export { boundedFetch } from './bounded-fetch.ts';
export { ClientLimits } from './client-limits.ts';
export * from './device-limit.ts';
export { Guesses } from './guesses.ts';
export { Hosts } from './hosts.ts';
export * from './key-file.ts';
export { Oidc, type OidcOptions } from './oidc.ts';
export {
  EVERYONE,
  isWithin,
  type Principal,
  type Rule,
  SCOPES,
  type Scope,
  tokenPrincipal,
} from './principal.ts';
export { Recent } from './recent.ts';
export { type Session, Sessions } from './sessions.ts';
export * from './settings.ts';
