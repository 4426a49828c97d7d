import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { boards } from './dashboards/boards.ts';
import { broker } from './dashboards/broker.ts';
import { ingest } from './dashboards/ingest.ts';
import { latest } from './dashboards/latest.ts';
import { live } from './dashboards/live.ts';
import { loadTest } from './dashboards/load-test.ts';
import { store } from './dashboards/store.ts';

/** Every dashboard; its uid is its file name. */
export const DASHBOARDS: readonly Dashboard[] = [live, ingest, broker, store, boards, loadTest];

/** Of a data source of SQL instead of Prometheus, which not every deploy has. */
export const SQL_DASHBOARDS: readonly Dashboard[] = [latest];
