/** How the operations reach the store. The factor `driver` has these levels. */
export const DRIVERS = ['raw', 'raw-again', 'app', 'k6', 'raw-connect', 'app-connect', 'published'] as const;

export type Driver = (typeof DRIVERS)[number];

const THROUGH_API: readonly Driver[] = ['app', 'app-connect', 'k6'];

/** Whether the operations of a driver go through the API, and not to the store itself. */
export function usesApi(driver: Driver): boolean {
  return THROUGH_API.includes(driver);
}

/** Stores of the published studies, for the driver `published`: of operations on devices, and of queries. */
export const PUBLISHED_STORES: Readonly<Record<'devices' | 'queries', readonly string[]>> = {
  devices: ['mariadb', 'mongodb', 'json'],
  queries: ['postgres', 'cassandra'],
};
