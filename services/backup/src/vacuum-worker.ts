import { DatabaseSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';

/** Copies a SQLite file. In a separate thread, because the statement blocks its thread until it ends. */
const { from, to } = workerData as { readonly from: string; readonly to: string };
const db = new DatabaseSync(from, { readOnly: true, timeout: 10_000 });
db.prepare('vacuum into ?').run(to);
db.close();
