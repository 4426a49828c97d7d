/**
 * All that is said to Citus. References: "Citus Utility Functions", "Citus Tables and Views" and "Cluster Management"
 * in its manual (docs.citusdata.com/en/stable), pg_control_system in PostgreSQL's, section "Control Data Functions".
 */

/**
 * Held by the one that acts, for as long as its session lives: an update may run two for a moment. Of two numbers, so
 * that it is none of the store's, which have one.
 */
export const TAKE_TURN = 'select pg_try_advisory_lock(7431265, 1) as mine';

/** Who a server is: made by initdb, kept with the data through every restart, upgrade of minors and move. */
export const WHO = `
  select (select system_identifier::text from pg_control_system()) as identity,
         (select extversion from pg_extension where extname = 'citus') as citus`;

/** Which group a node believes to be; 0 on coordinators and on who never joined. */
export const GROUP = 'select groupid as group from pg_dist_local_group';

// Ours alone: the schema must not travel to the workers as a distributed object.
export const PREPARE = [
  'set citus.enable_ddl_propagation = off',
  'create schema if not exists tidegauge_membership',
  `create table if not exists tidegauge_membership.worker (
     node integer primary key, identity text not null unique, disabled timestamptz)`,
  `create table if not exists tidegauge_membership.copies (relation regclass primary key, copies integer not null)`,
];

export const COORDINATOR_HOST =
  'select nodename as host, nodeport as port from pg_dist_node where groupid = 0';

/** Before the first worker, so that no worker is told "localhost", and no table lands on the coordinator itself. */
export const SET_COORDINATOR_HOST = 'select citus_set_coordinator_host($1, $2)';

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

// Who was taken out of the list by a person, and joins again, is another node with the same data.
export const IDENTIFY = `
  insert into tidegauge_membership.worker (node, identity) values ($1, $2)
  on conflict (identity) do update set node = excluded.node, disabled = null`;

/** Replicates reference tables later, on its own; shards only come by a rebalance. */
export const ADD = 'select citus_add_node($1, $2) as id';

/**
 * Waits for statements that use the worker, then ends them: they speak to an address where it is no more. Only the
 * coordinator's row is changed in the transaction; the maintenance daemon tells the workers, so it works while
 * others are down.
 */
export const MOVE = 'select citus_update_node($1, $2, $3, force := true, lock_cooldown := 5000)';

/** Placements stay listed, but are passed over; the data stays where it is. */
export const DISABLE = 'select citus_disable_node($1, $2, synchronous := $3)';
export const DISABLED = 'update tidegauge_membership.worker set disabled = now() where node = $1';

/** Drops from the lists what the worker missed writes to; `REPLICATE` brings it back. */
export const ACTIVATE = 'select citus_activate_node($1, $2)';
export const ACTIVATED = 'update tidegauge_membership.worker set disabled = null where node = $1';

/** How many copies tables were made with, before an activation forgets those of the worker that was away. */
export const REMEMBER_COPIES = `
  insert into tidegauge_membership.copies (relation, copies)
  select logicalrelid, max(n) from (
    select s.logicalrelid, count(*)::integer as n
      from pg_dist_placement p join pg_dist_shard s using (shardid) join pg_dist_partition t using (logicalrelid)
     where t.partmethod = 'h' and t.repmodel = 'c' group by s.logicalrelid, s.shardid) as shard
   group by logicalrelid
  on conflict (relation) do update set copies = greatest(copies.copies, excluded.copies)`;

/** Tables with shards that have fewer active copies than they were made with. */
export const MISSING_COPIES = `
  select relation, copies, sum(copies - n)::integer as missing from (
    select s.logicalrelid as relation, least(c.copies, (
             select count(*)::integer from pg_dist_node
              where groupid <> 0 and isactive and shouldhaveshards and noderole = 'primary')) as copies,
           (select count(*)::integer from pg_dist_placement p join pg_dist_node n using (groupid)
             where p.shardid = s.shardid and n.isactive and n.noderole = 'primary') as n
      from pg_dist_shard s join tidegauge_membership.copies c on c.relation = s.logicalrelid) as shard
   where n < copies group by relation, copies order by relation`;

/** Copies whole shards; those being copied take no writes meanwhile. Replaces what a returned worker still has. */
export const REPLICATE = `select replicate_table_shards($1::regclass, $2, shard_transfer_mode := 'block_writes')`;

/** Runs in the background of the coordinator; null when all is even. */
export const REBALANCE = 'select citus_rebalance_start() as job';

export const REBALANCE_STATUS = `
  select job_id::text as job, state::text, details -> 'task_state_counts' as tasks,
         started_at as started, finished_at as finished
    from citus_rebalance_status()`;
