import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { boards } from './dashboards/boards.ts';
import { broker } from './dashboards/broker.ts';
import { ingest } from './dashboards/ingest.ts';
import { latest } from './dashboards/latest.ts';
import { live } from './dashboards/live.ts';
import { loadTest } from './dashboards/load-test.ts';
import { overview } from './dashboards/overview.ts';
import { runbooks } from './dashboards/runbooks.ts';
import { store } from './dashboards/store.ts';

/** The dashboards with Prometheus as the data source. */
export const DASHBOARDS: readonly Dashboard[] = [overview, live, ingest, broker, store, boards, loadTest];

/** The dashboards with the API as the data source instead of Prometheus. */
export const API_DASHBOARDS: readonly Dashboard[] = [latest];

/** Every dashboard. Its uid is the name of its file. */
export const ALL_DASHBOARDS: readonly Dashboard[] = [...DASHBOARDS, ...API_DASHBOARDS, runbooks];
