#!/bin/sh
set -eu

usage() {
  cat <<'USAGE'
usage: run.sh ROLE | dfs ARGUMENT... | dfsadmin ARGUMENT... | checkpoint

Runs one role of HBase with its data in /data, or one of HDFS's own commands. checkpoint writes the file names of HDFS,
which the name node otherwise does every six hours.
  zookeeper     the list of servers, and the active master
  namenode      the names and blocks of HDFS's files; formats /data only when it is empty
  master        HBase's master; waits for zookeeper and namenode
  node          a data node of HDFS and a region server, so that a region's files are on its own board
  standalone    all of HBase in one process, on local files

HEAP is the heap of the Java process, such as 256m. For a node, HEAP is that of the region server, and DATANODE_HEAP
that of the data node. NAMENODE and ZOOKEEPER are host names. HDFS_REPLICATION is the number of copies of each file.
With WAL_HSYNC=false a write is acknowledged when it is in the memory of the data nodes. HOSTNAME is the name that
clients connect to, and must resolve on their machines.
USAGE
}

HOSTNAME=${HOSTNAME:-$(hostname)}

say() { echo "hbase: $*" >&2; }

fail() {
  say "$*"
  exit 1
}

ZOOKEEPER_PORT=2181
NAMENODE_PORT=8020
CHECKPOINT_SECONDS=21600
# While this file exists, the health check reports success although the role does not serve yet (health.sh).
WAITS=/tmp/waits
AGENT=/opt/jmx/agent.jar
# With less optimization a process that is never busy starts in half the CPU time.
BRIEF=-XX:TieredStopAtLevel=1

# usage: run_java HEAP DIRECT_MEMORY [OPTION...] CLASS [ARGUMENT...]: replaces this shell
run_java() {
  heap=$1 direct=$2
  shift 2
  exec java @/opt/hbase/conf/jvm.options "-Xmx$heap" "-XX:MaxDirectMemorySize=$direct" "$@"
}

# The option for the JMX exporter, if the image contains it.
agent() { [ ! -e "$AGENT" ] || echo "-javaagent:$AGENT=9404:/etc/tidegauge/jmx.yml"; }

listens() {
  # shellcheck disable=SC2016 # for bash, which has /dev/tcp
  timeout 3 bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$1" "$2" 2>/dev/null
}

# usage: await HOST PORT. Boards start in any order, and one may be unavailable for a long time.
await() {
  listens "$1" "$2" && return
  say "waits for $1:$2"
  : >"$WAITS"
  until listens "$1" "$2"; do sleep 1; done
  say "$1:$2 is there"
  rm -f "$WAITS"
}

require_data() {
  [ -w /data ] || fail "user $(id -u) may not write to /data: on the board, stacks/bin/board makes its folders"
}

zookeeper() {
  require_data
  cat >/tmp/zoo.cfg <<CFG
dataDir=/data
clientPort=$ZOOKEEPER_PORT
clientPortAddress=$HOSTNAME
tickTime=2000
maxClientCnxns=0
admin.enableServer=false
autopurge.purgeInterval=24
4lw.commands.whitelist=srvr
CFG
  # shellcheck disable=SC2153 # the environment's
  run_java "$HEAP" 16m "$BRIEF" org.apache.zookeeper.server.quorum.QuorumPeerMain /tmp/zoo.cfg
}

# Without the file names of the name node, the blocks of HDFS are useless. So unknown contents are left unchanged.
format_if_new() {
  require_data
  version=/data/current/VERSION
  if [ -f "$version" ]; then
    grep -q '^storageType=NAME_NODE$' "$version" || fail "/data is no name node's: is the right folder mounted?"
    return
  fi
  found=$(find /data -mindepth 1 -maxdepth 1 ! -name lost+found | head -n 3)
  [ -z "$found" ] || fail "/data has files but is no name node's ($found): is the right disk mounted? For a new HBase \
without any data, empty this folder and those of all data nodes"
  say 'formats a new name node, since there is nothing yet'
  (run_java "$HEAP" 16m "$BRIEF" org.apache.hadoop.hdfs.server.namenode.NameNode -format -nonInteractive) ||
    fail 'could not format, see above'
}

# Writes a complete image of the file names, so that the log of changes can be deleted. Otherwise the log, and the time
# of each start, would grow without limit.
checkpoint() {
  run_java 64m 16m "$BRIEF" org.apache.hadoop.hdfs.server.namenode.SecondaryNameNode -checkpoint "$@"
}

namenode() {
  format_if_new
  while sleep "$CHECKPOINT_SECONDS"; do (checkpoint) || say 'could not write a checkpoint, see above'; done &
  run_java "$HEAP" 16m "$BRIEF" org.apache.hadoop.hdfs.server.namenode.NameNode
}

master() {
  await "$NAMENODE" "$NAMENODE_PORT"
  await "$ZOOKEEPER" "$ZOOKEEPER_PORT"
  # shellcheck disable=SC2046 # one option, or none
  run_java "$HEAP" 64m "$BRIEF" $(agent) org.apache.hadoop.hbase.master.HMaster start
}

datanode=''
regionserver=''

node() {
  require_data
  await "$NAMENODE" "$NAMENODE_PORT"
  trap 'end 0' TERM INT
  run_java "$DATANODE_HEAP" 32m "$BRIEF" org.apache.hadoop.hdfs.server.datanode.DataNode &
  datanode=$!
  await "$ZOOKEEPER" "$ZOOKEEPER_PORT"
  # shellcheck disable=SC2046 # one option, or none
  run_java "$HEAP" 64m $(agent) org.apache.hadoop.hbase.regionserver.HRegionServer start &
  regionserver=$!
  while kill -0 "$datanode" && kill -0 "$regionserver"; do
    sleep 1 &
    wait "$!"
  done 2>/dev/null
  say 'data node or region server ended, see above, and so does the other'
  end 1
}

# usage: end STATUS. Ends the region server first: it writes its memory to files, also on this data node.
end() {
  trap '' TERM INT
  for process in $regionserver $datanode; do
    kill "$process" 2>/dev/null || :
    wait "$process" || :
  done
  exit "$1"
}

standalone() {
  require_data
  # HBase itself connects to its ZooKeeper on loopback, and clients connect on the network.
  # Hadoop's local file system with checksums does not sync files to the disk on request. The raw one does.
  # shellcheck disable=SC2046 # one option, or none
  run_java "$HEAP" 64m $(agent) org.apache.hadoop.hbase.master.HMaster \
    -D hbase.cluster.distributed=false -D hbase.rootdir=file:///data/hbase -D fs.defaultFS=file:/// \
    -D fs.file.impl=org.apache.hadoop.fs.RawLocalFileSystem -D hbase.wal.provider=filesystem \
    -D hbase.localcluster.assign.random.ports=false -D hbase.master.wait.on.regionservers.maxtostart=1 \
    -D hbase.zookeeper.property.dataDir=/data/zookeeper -D hbase.zookeeper.property.maxClientCnxns=0 \
    -D hbase.zookeeper.property.clientPortAddress=0.0.0.0 start
}

rm -f "$WAITS"
case ${1:---help} in
  --help) usage ;;
  zookeeper | namenode | master | node | standalone) "$1" ;;
  checkpoint) checkpoint force ;;
  dfs) shift; run_java 64m 16m "$BRIEF" org.apache.hadoop.fs.FsShell "$@" ;;
  dfsadmin) shift; run_java 64m 16m "$BRIEF" org.apache.hadoop.hdfs.tools.DFSAdmin "$@" ;;
  *) fail "$1 is no role: see --help" ;;
esac
