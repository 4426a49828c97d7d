// Creates the replica set of `hosts` with the secrets in the directory `secrets`, or changes its members to exactly
// these hosts. Then it creates Tidegauge's user, who can read and write its database and nothing else. It can run
// again. It runs in mongosh and in the mongo shell of 4.4, which have little in common: no modules, no promises.
/* global cat, db, hosts, Mongo, print, secrets, sleep */
const SET = 'tidegauge';
const WAIT_MS = 120000;

function read(path) {
  const text = typeof cat === 'function' ? cat(path) : require('node:fs').readFileSync(path, 'utf8');
  return text.trim();
}

function logIn(connection) {
  const admin = connection.getDB('admin');
  if (!admin.auth('admin', read(`${secrets}/password`))) throw new Error('the administrator cannot log in');
  return admin;
}

/** Runs a command. Old shells answer with an error, new ones throw it. */
function run(database, command) {
  const answer = database.runCommand(command);
  if (answer.ok !== 1) throw new Error(`${Object.keys(command)[0]}: ${answer.errmsg}`);
  return answer;
}

/** The administrator's database on the member that writes. */
function primary(admin) {
  for (let waited = 0; waited < WAIT_MS; waited += 500) {
    const hello = run(admin, { isMaster: 1 });
    if (hello.ismaster) return admin;
    if (hello.primary) return logIn(new Mongo(hello.primary));
    sleep(500);
  }
  throw new Error('the replica set has no primary: are most of its members up?');
}

/** Changes one member at a time, as MongoDB requires. */
function setMembers(admin, wanted) {
  for (;;) {
    const config = run(admin, { replSetGetConfig: 1 }).config;
    const added = wanted.find((host) => config.members.every((member) => member.host !== host));
    const gone = config.members.find((member) => !wanted.includes(member.host));
    if (added !== undefined) {
      const next = Math.max(...config.members.map((member) => member._id)) + 1;
      config.members.push({ _id: next, host: added });
      print(`adds ${added}`);
    } else if (gone !== undefined) {
      config.members = config.members.filter((member) => member !== gone);
      print(`removes ${gone.host}`);
    } else return;
    config.version += 1;
    run(admin, { replSetReconfig: config });
  }
}

function setUser(admin) {
  const [, password, name] =
    /^mongodb:\/\/tidegauge:([\w-]+)@[^/]+\/(\w+)/.exec(read(`${secrets}/store_url`)) || [];
  if (name === undefined) {
    throw new Error(
      'the secret tidegauge_mongodb_store_url is not like mongodb://tidegauge:<letters and digits>@hosts/database',
    );
  }
  const database = admin.getSiblingDB(name);
  const user = { pwd: password, roles: [{ role: 'readWrite', db: name }] };
  try {
    run(database, Object.assign({ createUser: 'tidegauge' }, user));
    print(`makes the user tidegauge of ${name}`);
  } catch (error) {
    if (!/already exists/.test(error.message)) throw error;
    run(database, Object.assign({ updateUser: 'tidegauge' }, user));
  }
}

const wanted = hosts.split(',');
const first = logIn(db.getMongo());
if (!run(first, { isMaster: 1 }).setName) {
  run(first, { replSetInitiate: { _id: SET, members: [{ _id: 0, host: wanted[0] }] } });
  print(`initiates ${SET} with ${wanted[0]}`);
}
const writing = primary(first);
const members = run(writing, { isMaster: 1 }).hosts;
if (members.slice().sort().join() !== wanted.slice().sort().join()) setMembers(writing, wanted);
setUser(primary(writing));
