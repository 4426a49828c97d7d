import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { startPostgres } from '@tidegauge/lab/postgres';
import { openStore } from '@tidegauge/storage';
import { initialRecords, parseWorkload, operations } from '@tidegauge/workload';
import { startApiProcess } from '../src/api-process.ts';
const cpu = (pid: number) => { const f = readFileSync(`/proc/${pid}/stat`,'utf8').split(') ')[1]!.split(' '); return (Number(f[11])+Number(f[12]))/100; };
const db = await startPostgres();
const url = db.url(await db.createDatabase());
const store = await openStore(url);
await store.records.createTable('usertable', 10);
const w = parseWorkload(readFileSync('packages/workload/workloads/workloadc','utf8'), {file:'c', overrides:{recordcount:'10000'}});
const rec = initialRecords(w, 1);
for (let i=0;i<10000;i+=20) await Promise.all(Array.from({length:20},(_, j)=>{const r=rec(i+j); return store.records.insert('usertable', r.key, r.values);}));
const api = await startApiProcess({ STORE: url, ...(process.env.PROF ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${process.env.PROF}` } : {}) });
for (const vus of (process.env.VUS ?? '1,16').split(',')) {
  const before = cpu(api.pid);
  const out = execFileSync(process.env.HOME+'/go/bin/k6', ['run','-q','--address','','-e',`URL=${api.url}`,'-e',`VUS=${vus}`,'-e','SECS='+(process.env.SECS ?? '8'),'/tmp/k6t/read.ts'],{encoding:'utf8'});
  const used = cpu(api.pid)-before;
  const n = Number(/http_reqs\.*: (\d+)/.exec(out)![1]);
  console.log(vus, 'vus', /http_reqs.*/.exec(out)![0], /http_req_duration.*/.exec(out)![0], 'api cpu/read us', (used/n*1e6).toFixed(1));
}
// raw
const ops = operations(w,{seed:1});
const t: number[] = [];
for (let i=0;i<10000;i++){ const op=ops.next(); const s=performance.now(); await store.records.read('usertable', op.key, null); t.push(performance.now()-s); }
t.sort((a,b)=>a-b); console.log('raw med ms', t[5000]);
const c0=process.cpuUsage(); await Promise.all(Array.from({length:16},async()=>{for(let i=0;i<1000;i++) await store.records.read('usertable', ops.next().key, null);})); const c1=process.cpuUsage(c0); console.log('raw cpu us/read', (c1.user+c1.system)/16000);
await api.stop(); await store.close(); await db.stop();
