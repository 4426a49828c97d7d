export { Access, type AccessOptions, principalOf } from './access.ts';
export * from './api-key.ts';
export * from './key-file.ts';
export {
  EVERYONE,
  isWithin,
  type Principal,
  type Rule,
  SCOPES,
  type Scope,
  tokenPrincipal,
} from './principal.ts';
export { type Session, Sessions } from './sessions.ts';
export * from './settings.ts';
