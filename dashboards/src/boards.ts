import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { boards } from './boards/boards.ts';
import { broker } from './boards/broker.ts';
import { ingest } from './boards/ingest.ts';
import { latest } from './boards/latest.ts';
import { live } from './boards/live.ts';
import { loadTest } from './boards/load-test.ts';
import { store } from './boards/store.ts';

/** Every dashboard; its uid is its file name. */
export const BOARDS: readonly Dashboard[] = [live, ingest, broker, store, boards, loadTest];

/** Of a data source of SQL instead of Prometheus, which not every deploy has. */
export const SQL_BOARDS: readonly Dashboard[] = [latest];
