import * as storage from '../src/index.ts';

// Every store of the suite is opened here, also in the processes that it kills. With this variable, which they inherit, the
// stores have no native versions of calls that can be derived: docs/adr/0002-store-contract.md.
const DERIVED = 'CONFORMANCE_DERIVED';

/** The suite of this process and of its children tests derived calls. */
export function testDerived(): void {
  process.env[DERIVED] = 'true';
}

/** Whether stores have only the native calls that cannot be derived. */
export function hasOnlyDerived(): boolean {
  return process.env[DERIVED] !== undefined;
}

function derivedCalls(): readonly storage.NativeCall[] {
  return hasOnlyDerived() ? storage.NATIVE_CALLS : [];
}

export function openStore(url: string, options: storage.OpenOptions = {}): Promise<storage.Store> {
  return storage.openStore(url, { derived: derivedCalls(), ...options });
}

export function createStore(url: string): Promise<storage.Store> {
  return storage.createStore(url, { derived: derivedCalls() });
}
