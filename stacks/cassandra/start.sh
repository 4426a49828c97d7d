#!/bin/sh
# Runs Cassandra as a member of the swarm's cluster. It writes all settings and options itself, so that it depends on no
# image's entry point. `start.sh health` is the health check.
#
# The address of a container changes at every start. Cassandra identifies a node by its host id, which is in its data.
# So a restarted node is the same member, and leaves no dead entry in the cluster.
set -eu

DATA=/var/lib/cassandra
RUN=/run/cassandra
# Exists since the node first accepted clients: its data is a part of the cluster's.
MEMBER=$DATA/member
OTHERS=tasks.cassandra
SEED=tasks.cassandra-seed
WAIT_S=600
FIRST_START_S=900

say() { echo "start.sh: $*"; }

fail() {
  echo "start.sh: $*" >&2
  exit 1
}

resolves() { getent ahostsv4 "$1" >/dev/null; }

# The address on the network `store`. The default route belongs to the board's own bridge for containers, so its
# address is the wrong one. Names cannot be used: Swarm publishes a task's name only when the task is healthy.
address() {
  bridge=$(ip -4 route show default | sed -n 's/.* dev \([^ ]*\).*/\1/p')
  all=$(ip -4 -o address show scope global | awk '{ sub("/.*", "", $4); print $2, $4 }')
  overlay=$(echo "$all" | awk -v bridge="$bridge" '$1 != bridge { print $2 }')
  # Only one network, as with docker compose.
  found=${overlay:-$(echo "$all" | awk '{ print $2 }')}
  [ "$(echo "$found" | wc -w)" = 1 ] || fail "has the addresses $all: attach it to the network store alone"
  echo "$found"
}

# usage: settings SEEDS ADDRESS_FOR_CLIENTS
settings() {
  cat <<YAML
cluster_name: tidegauge
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
num_tokens: 16
allocate_tokens_for_local_replication_factor: 3
listen_address: $own
rpc_address: $2
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - { seeds: "$1", resolve_multiple_ip_addresses_per_dns_record: "true" }

authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
role_manager: CassandraRoleManager
# Roles have three copies (see first_start), even if there are fewer boards. Any one copy is enough.
auth_read_consistency_level: LOCAL_ONE
auth_write_consistency_level: LOCAL_ONE
# To hash a password takes a small board a second.
credentials_validity: 600s
credentials_update_interval: 60s
roles_validity: 60s
permissions_validity: 60s

commitlog_sync: $CASSANDRA_COMMITLOG_SYNC
$([ "$CASSANDRA_COMMITLOG_SYNC" != periodic ] || echo 'commitlog_sync_period: 10000ms')
commitlog_segment_size: 8MiB
commitlog_total_space: $CASSANDRA_COMMITLOG_SPACE
# A broken disk ends the node, and Swarm reports it. Otherwise the node would run without answering.
disk_failure_policy: die
commit_failure_policy: die
# As in the study of Cassandra on such boards: a disk is too small to keep dropped data.
auto_snapshot: false
trickle_fsync: true

memtable_heap_space: $CASSANDRA_MEMTABLES
memtable_offheap_space: $CASSANDRA_MEMTABLES
key_cache_size: 8MiB
file_cache_size: $CASSANDRA_FILE_CACHE
networking_cache_size: 16MiB
concurrent_reads: $CASSANDRA_CONCURRENCY
concurrent_writes: $CASSANDRA_CONCURRENCY
concurrent_compactors: 1
compaction_throughput: 16MiB/s

$(for kind in read range write counter_write truncate; do
  echo "${kind}_request_timeout: $CASSANDRA_TIMEOUT"
done)
cas_contention_timeout: $CASSANDRA_TIMEOUT
YAML
}

# usage: jvm SEEDS ADDRESS_FOR_CLIENTS [OPTION...]: replaces this shell with the server.
jvm() {
  settings "$1" "$2" >"$RUN/cassandra.yaml"
  shift 2
  lib=$CASSANDRA_HOME/lib
  # Cassandra lists the parts of Java 17 that it must open. The profile sets heap and collector.
  modules=$(grep -h '^--add-' "${CASSANDRA_CONF:-$CASSANDRA_HOME/conf}/jvm17-server.options")
  young=${CASSANDRA_YOUNG:+-Xmn$CASSANDRA_YOUNG}
  # If the image has the JMX exporter and the stack has monitoring.
  agent=
  if [ -e /opt/jmx/agent.jar ] && [ -e /etc/tidegauge/jmx.yml ]; then
    agent=-javaagent:/opt/jmx/agent.jar=9404:/etc/tidegauge/jmx.yml
  fi
  # shellcheck disable=SC2086 # options, to be split
  exec java $modules $young $agent \
    "-Xms$CASSANDRA_HEAP" "-Xmx$CASSANDRA_HEAP" "-XX:+Use${CASSANDRA_COLLECTOR}GC" -Xss256k \
    -XX:+ExitOnOutOfMemoryError -XX:+PerfDisableSharedMem "-XX:MaxDirectMemorySize=$CASSANDRA_DIRECT" \
    "-javaagent:$(ls "$lib"/jamm-*.jar)" -Djava.net.preferIPv4Stack=true \
    -Djdk.attach.allowAttachSelf=true -Dio.netty.tryReflectionSetAccessible=true \
    "-Dcassandra.config=file://$RUN/cassandra.yaml" "-Dcassandra.storagedir=$DATA" "-Dcassandra.logdir=$RUN" \
    -Dlogback.configurationFile=/etc/tidegauge/logback.xml \
    -Dcassandra.jmx.local.port=7199 -Dcassandra-foreground=yes \
    "-Djava.io.tmpdir=$DATA/tmp" "-Djna.tmpdir=$DATA/tmp" "-Dio.netty.native.workdir=$DATA/tmp" \
    ${JVM_EXTRA_OPTS:-} "$@" -cp "$lib/*" org.apache.cassandra.service.CassandraDaemon
}

# Sends CQL's OPTIONS and expects SUPPORTED (6): the server accepts clients. To start nodetool would take a 1 GB board
# seconds of CPU and 50 MB each time.
answers() {
  # shellcheck disable=SC2016 # for bash, which has /dev/tcp
  bash -c 'exec 3<>"/dev/tcp/$1/9042" && printf "\4\0\0\0\5\0\0\0\0" >&3 &&
    [ "$(timeout 4 head -c 5 <&3 | od -An -tx1 | tr -d " ")" = 8400000006 ]' bash "$1" 2>/dev/null
}

# usage: cql FILE: runs the statements from stdin, as the user in this file of credentials.
cql() { cqlsh --credentials "$1" --request-timeout 120 127.0.0.1; }

credentials() { printf '[PlainTextAuthProvider]\nusername = %s\npassword = %s\n' "$1" "$2"; }

# The first node of a new cluster creates the roles while it listens inside this container only, so that no other
# client can log in as the default user with the default password.
first_start() {
  url=$(cat /run/secrets/store_url)
  password=$(echo "$url" | sed -n 's,^cassandra://tidegauge:\([A-Za-z0-9_-]*\)@.*,\1,p')
  keyspace=$(echo "$url" | sed -n 's,^[^?]*/\([a-z][a-z0-9_]*\)\(?.*\)\{0\,1\}$,\1,p')
  copies=$(echo "$url" | sed -n 's,.*[?&]rf=\([1-9]\).*,\1,p')
  [ -n "$password" ] || keyspace=
  [ -n "$keyspace" ] ||
    fail 'tidegauge_cassandra_store_url is not like cassandra://tidegauge:<letters and digits>@hosts/keyspace?rf=1'
  say 'new cluster: creates the roles before anyone can log in'
  # It runs alone and for a minute: it has no node to wait for, and an optimizing compiler would not pay off.
  (jvm "$own" 127.0.0.1 -Dcassandra.superuser_setup_delay_ms=0 -Dcassandra.skip_wait_for_gossip_to_settle=0 \
    -XX:TieredStopAtLevel=1) &
  server=$!
  trap 'kill "$server"; wait "$server"; exit 1' TERM INT
  waited=0
  until answers 127.0.0.1; do
    kill -0 "$server" 2>/dev/null || fail 'Cassandra ended, see above'
    [ "$waited" -lt "$FIRST_START_S" ] || fail "Cassandra does not answer after $FIRST_START_S s"
    sleep 1
    waited=$((waited + 1))
  done
  credentials cassandra cassandra >"$RUN/default"
  # The default user may appear a moment late. It may be missing if an earlier start was interrupted after its removal.
  for _ in 1 2 3 4 5; do
    cql "$RUN/default" <<CQL && break
CREATE ROLE IF NOT EXISTS admin WITH SUPERUSER = true AND LOGIN = true AND PASSWORD = '$(cat /run/secrets/password)';
CQL
    sleep 2
  done
  cql "$RUN/.cassandra/credentials" <<CQL || fail 'could not create the roles, see above; to start without the data, empty the folder'
DROP ROLE IF EXISTS cassandra;
CREATE KEYSPACE IF NOT EXISTS $keyspace
  WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': ${copies:-1}};
CREATE ROLE IF NOT EXISTS tidegauge WITH LOGIN = true AND PASSWORD = '$password';
GRANT CREATE ON KEYSPACE $keyspace TO tidegauge;
GRANT ALTER ON KEYSPACE $keyspace TO tidegauge;
GRANT DROP ON KEYSPACE $keyspace TO tidegauge;
GRANT SELECT ON KEYSPACE $keyspace TO tidegauge;
GRANT MODIFY ON KEYSPACE $keyspace TO tidegauge;
ALTER KEYSPACE system_auth WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 3};
CQL
  kill "$server"
  wait "$server" || true
  trap - TERM INT
  : >"$MEMBER"
}

if [ "${1:-}" = health ]; then
  answers "$(cat "$RUN/address")"
  [ -e "$MEMBER" ] || : >"$MEMBER"
  exit
fi

umask 077
mkdir -p "$DATA/tmp" "$RUN/.cassandra" 2>/dev/null ||
  fail "may not write to $DATA: on the board, stacks/bin/board cassandra=$CASSANDRA_ROLE"
own=$(address)
echo "$own" >"$RUN/address"
# `docker exec` of cqlsh runs as the administrator. HOME is this directory.
credentials admin "$(cat /run/secrets/password)" >"$RUN/.cassandra/credentials"
printf '[connection]\nhostname = %s\n' "$own" >"$RUN/.cassandra/cqlshrc"

if [ "$CASSANDRA_ROLE" = seed ]; then
  if [ ! -e "$MEMBER" ]; then
    # A seed copies no data from others: it would answer for rows that it does not have.
    resolves "$OTHERS" && fail 'this board has no data, and others have: label it node, and one of those seed'
    first_start
  fi
  # An existing cluster: use the other nodes as seeds too.
  seeds=$own
  if resolves "$OTHERS"; then seeds=$own,$OTHERS; fi
  set --
else
  # A member can start without the seed. A new node needs the seed.
  seeds=
  waited=0
  while [ -z "$seeds" ]; do
    if resolves "$SEED"; then seeds=$SEED
    elif [ -e "$MEMBER" ] && resolves "$OTHERS"; then seeds=$OTHERS
    fi
    [ "$waited" -lt "$WAIT_S" ] ||
      fail "no seed after $WAIT_S s: docker node update --label-add tidegauge.cassandra=seed BOARD, one with data"
    sleep 1
    waited=$((waited + 1))
  done
  # New boards that were labelled at once must not choose their tokens at the same moment. Cassandra refuses a node only
  # if the node can already see another one join. A refused node ends and starts again.
  [ -e "$MEMBER" ] || sleep "$(($(od -An -N2 -tu2 /dev/urandom) % (CASSANDRA_JOIN_SPREAD + 1)))"
  set --
  # The operator writes this file on a board with a new disk that replaces a lost node.
  if [ -e "$DATA/replace" ]; then set -- "-Dcassandra.replace_address_first_boot=$(cat "$DATA/replace")"; fi
fi
say "address $own, seeds $seeds"
jvm "$seeds" "$own" "$@"
