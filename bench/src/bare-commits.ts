import { DatabaseSync } from 'node:sqlite';

// The minimum cost of storing one reading at a time: a timer and one durable SQLite commit per reading.
const [file, perSecond, seconds] = process.argv.slice(2);
const db = new DatabaseSync(file!);
db.exec(
  'pragma journal_mode = wal; pragma synchronous = full; create table r (time integer primary key, value)',
);
const insert = db.prepare('insert into r values (?, ?)');
let time = 0;
const timer = setInterval(() => insert.run(time++, 21.5), 1000 / Number(perSecond));
setTimeout(() => {
  clearInterval(timer);
  db.close();
}, Number(seconds) * 1000);
