import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dockerHostOf } from '../../src/doctor.ts';

test('Docker is not checked without its socket, unless a setting is about a stack or names an engine', () => {
  const plain = {
    dockerHost: 'unix:///var/run/docker.sock',
    stack: 'tidegauge',
    profile: null,
    monitoring: false,
  };
  assert.equal(dockerHostOf(plain, false), 'none');
  assert.equal(dockerHostOf(plain, true), plain.dockerHost);
  for (const asked of [{ stack: 'other' }, { profile: '1gb' as const }, { monitoring: true }])
    assert.equal(dockerHostOf({ ...plain, ...asked }, false), plain.dockerHost);
  assert.equal(dockerHostOf({ ...plain, dockerHost: 'unix:///x' }, false), 'unix:///x');
});
