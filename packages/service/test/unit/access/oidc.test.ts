import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import * as jose from 'jose';
import { createLogger, Oidc, type OidcOptions } from '../../../src/index.ts';

const AUDIENCE = 'tidegauge';

interface Issuer {
  readonly url: string;
  /** What the server answers, by path. */
  readonly answers: Map<string, string | { status: number; body: string; headers?: Record<string, string> }>;
  readonly requests: string[];
  readonly key: jose.CryptoKey;
  readonly publicPem: string;
  sign(claims?: object, header?: object): Promise<string>;
  stop(): void;
}

/** A provider on loopback: a discovery document, and keys that `jose` made. */
async function startIssuer(t: TestContext): Promise<Issuer> {
  const { privateKey, publicKey } = await jose.generateKeyPair('ES256', { extractable: true });
  const jwk = { ...(await jose.exportJWK(publicKey)), kid: 'first', alg: 'ES256', use: 'sig' };
  const answers: Issuer['answers'] = new Map();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url!);
    const answer = answers.get(request.url!) ?? { status: 404, body: '' };
    const {
      status,
      body,
      headers = {},
    } = typeof answer === 'string' ? { status: 200, body: answer } : answer;
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  t.after(stop);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  answers.set('/.well-known/openid-configuration', JSON.stringify({ issuer: url, jwks_uri: `${url}/keys` }));
  answers.set('/keys', JSON.stringify({ keys: [jwk] }));
  const now = Math.floor(Date.now() / 1000);
  return {
    url,
    answers,
    requests,
    key: privateKey,
    publicPem: await jose.exportSPKI(publicKey),
    sign: (claims = {}, header = {}) =>
      new jose.SignJWT({
        iss: url,
        aud: AUDIENCE,
        sub: 'ada',
        scope: 'openid tidegauge:read',
        iat: now,
        exp: now + 600,
        ...claims,
      })
        .setProtectedHeader({ alg: 'ES256', kid: 'first', ...header })
        .sign(privateKey),
    stop,
  };
}

/** A token with claims of any type, also those that `jose` does not sign. */
async function signText(
  issuer: Issuer,
  claims: object,
  change: (text: string) => string = (text) => text,
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const common = { iss: issuer.url, aud: AUDIENCE, sub: 'ada', scope: 'tidegauge:read', exp: now + 600 };
  return new jose.CompactSign(new TextEncoder().encode(change(JSON.stringify({ ...common, ...claims }))))
    .setProtectedHeader({ alg: 'ES256', kid: 'first' })
    .sign(issuer.key);
}

function open(issuer: Issuer, more: Partial<OidcOptions> = {}, now = Date.now): Oidc {
  const options: OidcOptions = {
    issuer: issuer.url,
    audience: [AUDIENCE, 'other'],
    jwks: null,
    scopesClaim: 'scope',
    scopes: [
      ['tidegauge:read', 'read'],
      ['tidegauge:write', 'write'],
    ],
    devicesClaim: null,
    ...more,
  };
  return new Oidc(options, createLogger('test', 'silent'), now);
}

test('a token of the provider is accepted with its subject and scopes, and verified once', async (t) => {
  const issuer = await startIssuer(t);
  const oidc = open(issuer);
  const token = await issuer.sign();
  assert.equal(oidc.isToken(token), true);
  assert.equal(oidc.known(token), null);
  const found = await oidc.verify(token);
  assert.ok(typeof found !== 'string');
  assert.deepEqual([found.kind, found.id, found.scopes, found.devices], ['oidc', 'ada', ['read'], null]);
  assert.equal(oidc.known(token), found);
  await oidc.verify(await issuer.sign({ sub: 'grace' }));
  assert.deepEqual(issuer.requests, ['/.well-known/openid-configuration', '/keys']);
});

test('tokens with a wrong issuer, audience, signature, algorithm, key or claim are refused', async (t) => {
  const issuer = await startIssuer(t);
  const oidc = open(issuer);
  const other = await jose.generateKeyPair('ES256');
  const now = Math.floor(Date.now() / 1000);
  const hmac = (secret: string | Uint8Array) =>
    new jose.SignJWT({ iss: issuer.url, aud: AUDIENCE, sub: 'ada', exp: now + 600 })
      .setProtectedHeader({ alg: 'HS256', kid: 'first' })
      .sign(typeof secret === 'string' ? new TextEncoder().encode(secret) : secret);
  const none = new jose.UnsecuredJWT({ iss: issuer.url, aud: AUDIENCE, sub: 'ada', exp: now + 600 }).encode();
  const good = await issuer.sign();
  const [head, body, signature] = good.split('.') as [string, string, string];
  const forged = Buffer.from(body, 'base64url').toString().replace('ada', 'eve');
  const cases: Record<string, string> = {
    issuer: await issuer.sign({ iss: 'https://evil.example' }),
    'no issuer': await issuer.sign({ iss: undefined }),
    audience: await issuer.sign({ aud: 'another program' }),
    'no audience': await issuer.sign({ aud: undefined }),
    'alg none': none,
    'alg none with a signature': `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.${signature}`,
    'HS256 with the public key': await hmac(issuer.publicPem),
    'a changed body': `${head}.${Buffer.from(forged).toString('base64url')}.${signature}`,
    'no signature': `${head}.${body}.`,
    'another key': await new jose.SignJWT({ iss: issuer.url, aud: AUDIENCE, sub: 'ada', exp: now + 600 })
      .setProtectedHeader({ alg: 'ES256', kid: 'first' })
      .sign(other.privateKey),
    'an unknown kid': await issuer.sign({}, { kid: 'second' }),
    'a key in the header': await new jose.SignJWT({
      iss: issuer.url,
      aud: AUDIENCE,
      sub: 'ada',
      exp: now + 600,
    })
      .setProtectedHeader({ alg: 'ES256', kid: 'x', jwk: await jose.exportJWK(other.publicKey) })
      .sign(other.privateKey),
    'not yet valid': await issuer.sign({ nbf: now + 120 }),
    'no expiry': await issuer.sign({ exp: undefined }),
    'no subject': await issuer.sign({ sub: undefined }),
    'a subject with a line break': await issuer.sign({ sub: 'a\nb' }),
    ...Object.fromEntries(
      await Promise.all(
        [
          ...[{}, { a: 1 }, ['ada'], 7, true, null, '', 'x'.repeat(201)].map((sub) => ({ sub })),
          ...[{ [AUDIENCE]: 1 }, [AUDIENCE, 7], [[AUDIENCE]], 7, null].map((aud) => ({ aud })),
          ...[{}, ['x'], 7, null].map((azp) => ({ azp })),
          ...['soon', {}, [now + 600], null, true].map((exp) => ({ exp })),
          ...['now', {}, null].map((nbf) => ({ nbf })),
          ...[{ 'tidegauge:read': true }, ['tidegauge:read', 7], [['tidegauge:read']], 7, true].map(
            (scope) => ({ scope }),
          ),
        ].map(async (claims) => [JSON.stringify(claims), await signText(issuer, claims)]),
      ),
    ),
    'an infinite expiry': await signText(issuer, {}, (text) => text.replace(/"exp":\d+/, '"exp":1e999')),
    'not JSON': 'a.b.c',
  };
  for (const [what, token] of Object.entries(cases)) assert.equal(await oidc.verify(token), 'wrong', what);
  assert.equal(await oidc.verify(await issuer.sign({ exp: now - 60 })), 'expired');
  assert.equal(
    typeof (await oidc.verify(await issuer.sign({ exp: now - 10 }))),
    'object',
    'within the tolerance',
  );
});

test('unknown kids do not cause a request to the provider each', async (t) => {
  const issuer = await startIssuer(t);
  const oidc = open(issuer);
  for (let index = 0; index < 20; index++)
    await oidc.verify(await issuer.sign({}, { kid: `unknown ${index}` }));
  assert.ok(issuer.requests.length <= 3, issuer.requests.join(' '));
});

test('a token ends at its expiry, also while it is known', async (t) => {
  const issuer = await startIssuer(t);
  const clock = { ms: Date.now() };
  const oidc = open(issuer, {}, () => clock.ms);
  const token = await issuer.sign();
  const found = await oidc.verify(token);
  assert.ok(typeof found !== 'string' && found.isCurrent());
  clock.ms += 631_000;
  assert.equal(found.isCurrent(), false);
  assert.equal(oidc.known(token), null);
  assert.equal(await oidc.verify(token), 'expired');
});

test('claims are mapped to scopes and to a device, also below objects and from lists', async (t) => {
  const issuer = await startIssuer(t);
  const roles = open(issuer, {
    scopesClaim: 'realm_access.roles',
    scopes: [
      ['operator', 'write'],
      ['boss', 'admin'],
    ],
    devicesClaim: 'https://example.org/site',
  });
  const site = (value: unknown) => ({ 'https://example.org/site': value });
  const verify = async (claims: object) => roles.verify(await issuer.sign(claims));
  const one = await verify({ realm_access: { roles: ['operator', 'x'] }, ...site('site-3') });
  assert.ok(typeof one !== 'string');
  assert.deepEqual([one.scopes, one.devices], [['write'], 'site-3']);
  const all = await verify({ realm_access: { roles: ['boss'] }, ...site('*') });
  assert.ok(typeof all !== 'string' && all.devices === null && all.scopes[0] === 'admin');
  const none = await verify({ realm_access: 'boss', ...site('*') });
  assert.ok(typeof none !== 'string' && none.scopes.length === 0);
  for (const value of [undefined, '', '/', 'a//b', 'a b', 7, ['site-3'], null])
    assert.equal(await verify({ ...site(value) }), 'wrong', JSON.stringify(value));
});

test('while the keys cannot be read the token is not refused, and the reason is one of the provider', async (t) => {
  const issuer = await startIssuer(t);
  const token = await issuer.sign();
  const discovery = '/.well-known/openid-configuration';
  const good = issuer.answers.get(discovery)!;
  for (const [path, answer] of [
    [discovery, { status: 500, body: '' }],
    [discovery, '{}'],
    [discovery, JSON.stringify({ issuer: 'https://evil.example', jwks_uri: `${issuer.url}/keys` })],
    [discovery, JSON.stringify({ issuer: issuer.url, jwks_uri: 'http://192.0.2.1/keys' })],
    [discovery, { status: 302, body: '', headers: { Location: `${issuer.url}/keys` } }],
    ['/keys', { status: 503, body: '' }],
    ['/keys', 'not JSON'],
    ['/keys', '{"keys":1}'],
    ['/keys', ' '.repeat(300 * 1024)],
    ['/keys', { status: 302, body: '', headers: { Location: `${issuer.url}${discovery}` } }],
  ] as const) {
    const keys = issuer.answers.get('/keys')!;
    issuer.answers.set(path, answer);
    assert.equal(
      await open(issuer).verify(token),
      'unavailable',
      `${path} ${JSON.stringify(answer).slice(0, 80)}`,
    );
    issuer.answers.set('/keys', keys).set(discovery, good);
  }
  const clock = { ms: Date.now() };
  const oidc = open(issuer, {}, () => clock.ms);
  assert.equal(typeof (await oidc.verify(token)), 'object');
  issuer.stop();
  assert.equal(typeof (await oidc.verify(token)), 'object', 'the keys are kept');
  assert.equal(await open(issuer).verify(token), 'unavailable');
});
