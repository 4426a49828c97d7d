/**
 * All statements for Citus. References: "Citus Utility Functions", "Citus Tables and Views" and "Cluster Management"
 * in its manual (docs.citusdata.com/en/stable); pg_control_system in PostgreSQL's, section "Control Data Functions".
 */

/**
 * The lock of the acting service, held as long as its session: during an update two services can run for a moment. It
 * has two numbers, to be distinct from the locks of the store, which have one.
 */
export const TAKE_TURN = 'select pg_try_advisory_lock(7431265, 1) as mine';

/** The identity of a server: created by initdb, and kept with the data through restarts, minor upgrades and moves. */
export const WHO = `
  select (select system_identifier::text from pg_control_system()) as identity,
         (select extversion from pg_extension where extname = 'citus') as citus`;

/** The group id that a node has: 0 on coordinators and on servers that never joined. */
export const GROUP = 'select groupid as group from pg_dist_local_group';

// The schema must not be propagated to the workers as a distributed object.
export const PREPARE = [
  'set citus.enable_ddl_propagation = off',
  'create schema if not exists tidegauge_membership',
  `create table if not exists tidegauge_membership.worker (
     node integer primary key, identity text not null unique, disabled timestamptz)`,
  `create table if not exists tidegauge_membership.copies (relation regclass primary key, copies integer not null)`,
];

export const COORDINATOR_HOST =
  'select nodename as host, nodeport as port from pg_dist_node where groupid = 0';

/**
 * Runs before the first worker joins, so that no worker gets "localhost", and no table is placed on the coordinator
 * itself.
 */
export const SET_COORDINATOR_HOST = 'select citus_set_coordinator_host($1, $2)';

/** Commits or rolls back each transaction that a node prepared, as the coordinator decided. */
export const RECOVER = 'select recover_prepared_transactions() as transactions';

export const WORKERS = `
  select n.nodeid as id, n.groupid as group, n.nodename as address, n.isactive as active, w.identity,
         w.disabled is not null as "disabledByUs",
         (select count(*)::integer from pg_dist_placement mine
           where mine.groupid = n.groupid and not exists (
             select 1 from pg_dist_placement other join pg_dist_node o using (groupid)
              where other.shardid = mine.shardid and other.groupid <> mine.groupid
                and o.isactive and o.noderole = 'primary')) as "onlyCopies"
    from pg_dist_node n left join tidegauge_membership.worker w on w.node = n.nodeid
   where n.groupid <> 0 and n.noderole = 'primary'
   order by n.nodeid`;

// A worker that an administrator removed and that joins again is another node with the same data.
export const IDENTIFY = `
  insert into tidegauge_membership.worker (node, identity) values ($1, $2)
  on conflict (identity) do update set node = excluded.node, disabled = null`;

/** Citus replicates reference tables later; shards are only moved by a rebalance. */
export const ADD = 'select citus_add_node($1, $2) as id';

/**
 * Waits for statements that use the worker, then ends them, because they use its old address. The transaction changes
 * only the coordinator's row; the maintenance daemon updates the workers, so it works while others are down.
 */
export const MOVE = 'select citus_update_node($1, $2, $3, force := true, lock_cooldown := 5000)';

/** Placements stay in the metadata but are not used; the data stays on the worker. */
export const DISABLE = 'select citus_disable_node($1, $2, synchronous := $3)';
export const DISABLED = 'update tidegauge_membership.worker set disabled = now() where node = $1';

/** Removes the placements that missed writes; `REPLICATE` creates them again. */
export const ACTIVATE = 'select citus_activate_node($1, $2)';
export const ACTIVATED = 'update tidegauge_membership.worker set disabled = null where node = $1';

/** Records the number of copies of each table, before an activation removes those of the returned worker. */
export const REMEMBER_COPIES = `
  insert into tidegauge_membership.copies (relation, copies)
  select logicalrelid, max(n) from (
    select s.logicalrelid, count(*)::integer as n
      from pg_dist_placement p join pg_dist_shard s using (shardid) join pg_dist_partition t using (logicalrelid)
     where t.partmethod = 'h' and t.repmodel = 'c' group by s.logicalrelid, s.shardid) as shard
   group by logicalrelid
  on conflict (relation) do update set copies = greatest(copies.copies, excluded.copies)`;

/** Tables with shards that have fewer active copies than at their creation. */
export const MISSING_COPIES = `
  select relation, copies, sum(copies - n)::integer as missing from (
    select s.logicalrelid as relation, least(c.copies, (
             select count(*)::integer from pg_dist_node
              where groupid <> 0 and isactive and shouldhaveshards and noderole = 'primary')) as copies,
           (select count(*)::integer from pg_dist_placement p join pg_dist_node n using (groupid)
             where p.shardid = s.shardid and n.isactive and n.noderole = 'primary') as n
      from pg_dist_shard s join tidegauge_membership.copies c on c.relation = s.logicalrelid) as shard
   where n < copies group by relation, copies order by relation`;

/** Copies whole shards and blocks writes to them meanwhile. It replaces the old data of a returned worker. */
export const REPLICATE = `select replicate_table_shards($1::regclass, $2, shard_transfer_mode := 'block_writes')`;

/** Runs in the background on the coordinator; null when shards are already even. */
export const REBALANCE = 'select citus_rebalance_start() as job';

export const REBALANCE_STATUS = `
  select job_id::text as job, state::text, details -> 'task_state_counts' as tasks,
         started_at as started, finished_at as finished
    from citus_rebalance_status()`;
