import { link, lstat, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cassandra, CassandraNode } from './cassandra.ts';
import type { DatabaseCopies } from './database-copies.ts';
import { diskUsage } from './disk-usage.ts';

/** How long nodes may take to agree on a new table. */
const AGREEMENT_MS = 60_000;
const POLL_MS = 500;
/** Files of a snapshot that are no data. */
const DESCRIPTIONS = ['schema.cql', 'manifest.json'];

/**
 * Copies of tables by nodetool: `snapshot` writes the memory of each node to files and makes hard links to its files,
 * and `import` takes such files into a new table. Files of Cassandra never change.
 */
export function cassandraCopies(server: Cassandra): DatabaseCopies {
  const { nodes, directory } = server;
  const folder = join(directory, 'copies');
  const folderOf = (copy: string, node: CassandraNode): string =>
    join(folder, copy, String(nodes.indexOf(node)));

  const saveNode = async (node: CassandraNode, copy: string, keyspace: string, table: string) => {
    await node.nodetool('snapshot', '-t', copy, '-cf', table, '--', keyspace);
    const snapshot = await findSnapshot(node, copy, keyspace, table);
    await linkFiles(snapshot, folderOf(copy, node));
    await rm(snapshot, { recursive: true });
  };
  /** `import` moves the files, so it gets other links to them. It takes them only from a folder with these names. */
  const restoreNode = async (node: CassandraNode, copy: string, keyspace: string, table: string) => {
    const staged = join(folder, 'import', keyspace, table);
    await linkFiles(folderOf(copy, node), staged, DESCRIPTIONS);
    // A node of several can have no part of a small table.
    if ((await readdir(staged)).length === 0) return;
    await node.nodetool('import', '--', keyspace, table, staged);
    const left = await readdir(staged);
    if (left.length > 0) {
      throw new Error(`cassandra on ${node.host} did not take ${left.join(', ')} of ${keyspace}.${table}`);
    }
  };

  return {
    async save(copy, place, table) {
      await rm(join(folder, copy), { recursive: true, force: true });
      for (const node of nodes) {
        await removeSnapshots(node, copy, place, table);
        await saveNode(node, copy, place, table);
      }
    },
    async restore(copy, place, table) {
      const create = await definitionIn(folderOf(copy, nodes[0]!));
      await server.query(`drop table if exists "${place}"."${table}"`);
      await server.query(create);
      for (const node of nodes) {
        await untilKnown(() => restoreNode(node, copy, place, table));
      }
    },
    /** Files that no table has any more: those of tables are counted first, and are not counted again. */
    async bytes() {
      const seen = new Set<string>();
      for (const node of nodes) await diskUsage(node.folder, seen);
      return diskUsage(folder, seen);
    },
  };
}

/** The folders of a table: each table that had the name has one. */
async function tableFolders(node: CassandraNode, keyspace: string, table: string): Promise<string[]> {
  const data = join(node.folder, 'data', keyspace);
  const found = await readdir(data);
  return found.filter((name) => name.startsWith(`${table}-`)).map((name) => join(data, name));
}

async function findSnapshot(
  node: CassandraNode,
  copy: string,
  keyspace: string,
  table: string,
): Promise<string> {
  for (const folder of await tableFolders(node, keyspace, table)) {
    const snapshot = join(folder, 'snapshots', copy);
    if (await exists(snapshot)) return snapshot;
  }
  throw new Error(`cassandra on ${node.host} made no snapshot ${copy} of ${keyspace}.${table}`);
}

/** Removes what an interrupted save has left. */
async function removeSnapshots(
  node: CassandraNode,
  copy: string,
  keyspace: string,
  table: string,
): Promise<void> {
  for (const folder of await tableFolders(node, keyspace, table)) {
    await rm(join(folder, 'snapshots', copy), { recursive: true, force: true });
  }
}

/** The statement that creates the table of a copy, without its id: a dropped table with the same id has had other data. */
async function definitionIn(folder: string): Promise<string> {
  const text = await readFile(join(folder, 'schema.cql'), 'utf8');
  const [, create] = /^(CREATE TABLE IF NOT EXISTS [^;]*);/m.exec(text) ?? [];
  if (create === undefined) throw new Error(`${folder}/schema.cql has no table`);
  return create.replace(/\bWITH ID = [0-9a-f-]+\s+AND\b/, 'WITH');
}

async function linkFiles(from: string, to: string, without: readonly string[] = []): Promise<void> {
  await rm(to, { recursive: true, force: true });
  await mkdir(to, { recursive: true });
  for (const name of await readdir(from)) {
    if (!without.includes(name)) await link(join(from, name), join(to, name));
  }
}

/** Repeats a call until the node has the table, which another node has created. */
async function untilKnown(call: () => Promise<void>): Promise<void> {
  for (const deadline = Date.now() + AGREEMENT_MS; ; await delay(POLL_MS)) {
    try {
      return await call();
    } catch (error) {
      if (Date.now() > deadline || !/unknown (keyspace|table)|does ?n.t exist/i.test(String(error)))
        throw error;
    }
  }
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
