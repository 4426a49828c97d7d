import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deviceNameProblem, metricNameProblem } from '@tidegauge/readings';

describe('a device name', () => {
  it('is a path of 1 to 8 segments', () => {
    for (const name of [
      'probe',
      'site-3/boiler/probe-7',
      'a/b/c/d/e/f/g/h',
      '2001:db8::1',
      'Łódź/Pumpe_3~x@y.z',
    ]) {
      assert.equal(deviceNameProblem(name), null, name);
    }
  });

  it('has no segment that is empty or too long, contains spaces or wildcards, or consists of dots', () => {
    const refused = ['', '/a', 'a/', 'a//b', 'a b', 'a/+', 'a/#', 'a\n', '.', 'a/..', 'a/.../b', 'a\0'];
    for (const name of [...refused, 'x'.repeat(201), '1/2/3/4/5/6/7/8/9']) {
      assert.notEqual(deviceNameProblem(name), null, JSON.stringify(name));
    }
  });
});

describe('a metric name', () => {
  it('is one word', () => {
    for (const name of ['temperature', 'pm2.5', 'größe', 'x:y', '温度'])
      assert.equal(metricNameProblem(name), null);
    for (const name of ['', 'a/b', 'a b', '..', 'x'.repeat(65)])
      assert.notEqual(metricNameProblem(name), null);
  });
});
