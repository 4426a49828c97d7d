import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { startApi } from '../harness.ts';

interface Raw {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** An answer as it is on the wire. fetch would decompress it. */
function get(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part)).on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(parts) }),
      );
    });
    sent.on('error', reject).end();
  });
}

const GZIP = { 'Accept-Encoding': 'gzip, deflate, br' };

test('files of pages are sent with gzip to clients that accept it, and are the same as without', async (t) => {
  const { url } = await startApi(t);
  for (const path of [
    '/',
    '/main.js',
    '/page.css',
    '/docs',
    '/docs/docs.css',
    '/docs/try.js',
    '/vendor/swagger-ui/swagger-ui-bundle.js',
  ]) {
    // The first requests arrive before the file is compressed.
    const [zipped, again] = await Promise.all([get(url + path, GZIP), get(url + path, GZIP)]);
    const plain = await get(url + path);
    for (const { status, headers } of [zipped, plain]) {
      assert.equal(status, 200, path);
      assert.match(headers.vary!, /Accept-Encoding/, path);
      assert.equal(headers['cache-control'], 'no-cache', path);
    }
    assert.equal(zipped.headers['content-encoding'], 'gzip', path);
    assert.equal(plain.headers['content-encoding'], undefined, path);
    assert.equal(zipped.headers['content-type'], plain.headers['content-type'], path);
    assert.notEqual(zipped.headers.etag, plain.headers.etag, path);
    assert.deepEqual(gunzipSync(zipped.body), plain.body, path);
    assert.deepEqual(zipped.body, again.body, path);
    assert.ok(zipped.body.length < plain.body.length / 1.5, path);
  }
});

test('a compressed file that the client has is not sent again, and HEAD and ranges work', async (t) => {
  const { url } = await startApi(t);
  const first = await get(`${url}/main.js`, GZIP);
  const second = await get(`${url}/main.js`, { ...GZIP, 'If-None-Match': first.headers.etag! });
  assert.deepEqual([second.status, second.body.length], [304, 0]);
  const head = await get(`${url}/main.js`, GZIP, 'HEAD');
  assert.deepEqual([head.status, head.body.length], [200, 0]);
  assert.equal(head.headers['content-length'], String(first.body.length));
  const part = await get(`${url}/main.js`, { ...GZIP, Range: 'bytes=0-9' });
  assert.deepEqual([part.status, part.body.length, part.headers['content-encoding']], [206, 10, undefined]);
  assert.equal(
    (await get(`${url}/main.js`, { 'Accept-Encoding': 'gzip;q=0' })).headers['content-encoding'],
    undefined,
  );
});

test('only the files of the pages can be requested', async (t) => {
  const { url } = await startApi(t);
  for (const path of [
    '/package.json',
    '/..%2fpackage.json',
    '/docs/..%2fmain.js',
    '/docs/try.html',
    '/vendor/swagger-ui/package.json',
    '/vendor/uplot/',
  ]) {
    assert.equal((await get(url + path, GZIP)).status, 404, path);
  }
  assert.equal((await get(`${url}/main.js`, GZIP, 'POST')).status, 404);
});

test('the live page has at most 200 kB, with all that it can load', async (t) => {
  const { url } = await startApi(t);
  const files = readdirSync(new URL('../../public/', import.meta.url), { withFileTypes: true });
  const paths = files.filter((file) => file.isFile()).map(({ name }) => `/${name}`);
  let bytes = 0;
  for (const path of [...paths, '/vendor/uplot/uPlot.iife.min.js', '/vendor/uplot/uPlot.min.css']) {
    const { status, body } = await get(url + path, GZIP);
    assert.equal(status, 200, path);
    bytes += body.length;
  }
  assert.ok(bytes <= 200_000, `${bytes} bytes`);
});
