import { defineCommand, defineConfig, EXIT, run, text } from '@tidegauge/service/program';
import { removePassword, setPassword, usersOf } from './password-file.ts';
import { readSecret } from './read-secret.ts';

const common = defineConfig({
  listenPasswords: {
    kind: text('a file name'),
    default: './data/passwords',
    help: 'The file of passwords. Ingest with the same LISTEN_PASSWORDS uses it.',
  },
});
const user = {
  kind: text('a user name', 'USER'),
  positional: true,
  required: true,
  help: 'The name with which the sensor logs in. It may publish below sensors/USER/.',
} as const;

const add = defineCommand({
  name: 'tidegauge passwords add',
  summary: 'Adds a user, or changes the password of one. The file has a hash of it only.',
  details:
    'The password is prompted for twice, or read from standard input if that is not a terminal. It is not an argument, because\n' +
    'other users of the machine can see those.',
  examples: [
    'tidegauge passwords add site-3',
    'openssl rand -hex 16 | tee site-3.txt | tidegauge passwords add site-3',
  ],
  configuredBy: 'environment',
  settings: { ...common, user },
  async run({ listenPasswords, user }) {
    const password = await readSecret(`the password of ${user}`);
    const isNew = await setPassword(listenPasswords, user, password);
    process.stderr.write(`${user} was ${isNew ? 'added to' : 'changed in'} ${listenPasswords}\n`);
    if (/[/+#]/.test(user)) {
      const why = 'its name has /, + or #, so no topics belong to it';
      process.stderr.write(`${user} may publish only where LISTEN_ACL names it: ${why}\n`);
    }
    return EXIT.OK;
  },
});

const show = defineCommand({
  name: 'tidegauge passwords list',
  summary: 'Prints the names of all users.',
  configuredBy: 'environment',
  settings: common,
  run({ listenPasswords }) {
    for (const each of usersOf(listenPasswords)) process.stdout.write(`${each}\n`);
    return EXIT.OK;
  },
});

const remove = defineCommand({
  name: 'tidegauge passwords remove',
  summary: 'Removes a user. Ingest ends the connections of its sensors within a second or two.',
  examples: ['tidegauge passwords remove site-3'],
  configuredBy: 'environment',
  settings: { ...common, user },
  run({ listenPasswords, user }) {
    removePassword(listenPasswords, user);
    process.stderr.write(`${user} was removed from ${listenPasswords}\n`);
    return EXIT.OK;
  },
});

export const program = {
  name: 'tidegauge passwords',
  summary: 'Adds, lists and removes the passwords with which sensors log in at ingest (LISTEN_PASSWORDS).',
  commands: { add, list: show, remove },
};

if (import.meta.main) process.exitCode = await run(program);
