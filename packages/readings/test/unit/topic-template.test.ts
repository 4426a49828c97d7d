import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compileTopicTemplate, DecodeError } from '@tidegauge/readings';
import fc from 'fast-check';

/** The result of matching `topic` with `template`: the names, 'none', or the reason for a refusal. */
function match(template: string, topic: string) {
  const found = compileTopicTemplate(template).match(topic);
  if (found === null) return 'none';
  return found instanceof DecodeError ? found.reason : [found.device, found.metric];
}

describe('a topic template', () => {
  it('has a subscription filter with + for a level and # for a path at the end', () => {
    const filters = {
      'sensors/{device+}/{metric}': 'sensors/#',
      'sensors/{device}/{metric}': 'sensors/+/+',
      'sensors/{metric}/{device+}': 'sensors/+/#',
      '{device+}/state': '#',
      'tele/{device}/SENSOR': 'tele/+/SENSOR',
      'a/+/{device}/#': 'a/+/+/#',
      'plant/all': 'plant/all',
      '/lead/{metric}/': '/lead/+/',
      '$SYS/broker/{metric}': '$SYS/broker/+',
    };
    for (const [template, filter] of Object.entries(filters)) {
      assert.equal(compileTopicTemplate(template).filter, filter);
    }
  });

  it('reads device and metric from a topic', () => {
    const standard = 'sensors/{device+}/{metric}';
    assert.deepEqual(match(standard, 'sensors/probe/temperature'), ['probe', 'temperature']);
    assert.deepEqual(match(standard, 'sensors/site-3/boiler/probe-7/t'), ['site-3/boiler/probe-7', 't']);
    assert.deepEqual(match('sensors/{device}/{metric}', 'sensors/a/b'), ['a', 'b']);
    assert.deepEqual(match('{metric}/of/{device+}', 'humidity/of/a/b/c'), ['a/b/c', 'humidity']);
    assert.deepEqual(match('{device+}/x/{metric}/y', 'a/b/x/m/y'), ['a/b', 'm']);
    assert.deepEqual(match('tele/{device}/SENSOR', 'tele/plug/SENSOR'), ['plug', null]);
    assert.deepEqual(match('up/+/{metric}/#', 'up/gw/m/and/more'), [null, 'm']);
    assert.deepEqual(match('up/{device}/#', 'up/gw'), ['gw', null]);
    assert.deepEqual(match('gateway', 'gateway'), [null, null]);
  });

  it('does not match topics of other routes', () => {
    const standard = 'sensors/{device+}/{metric}';
    for (const topic of ['sensors', 'sensors/a', 'other/a/b', 'Sensors/a/b', '', '/sensors/a/b']) {
      assert.equal(match(standard, topic), 'none', topic);
    }
    assert.equal(match('sensors/{device}/{metric}', 'sensors/a/b/c'), 'none');
    assert.equal(match('{device+}/state', 'a/b/status'), 'none');
    assert.equal(match('a/{device}/#', 'a'), 'none');
  });

  it('does not match a topic that starts with $ when its first level is a wildcard', () => {
    for (const template of [
      '{device+}/{metric}',
      '{device}/{metric}',
      '{metric}/{device}',
      '#',
      '+/{metric}',
    ]) {
      assert.equal(match(template, '$SYS/uptime'), 'none', template);
    }
    assert.deepEqual(match('$SYS/{metric}', '$SYS/uptime'), [null, 'uptime']);
  });

  it('reports a topic that matches the template but contains names that cannot be stored', () => {
    const standard = 'sensors/{device+}/{metric}';
    for (const topic of [
      'sensors//temperature',
      'sensors/a/../temperature',
      'sensors/a/',
      'sensors/1/2/3/4/5/6/7/8/9/temperature',
      `sensors/${'x'.repeat(201)}/temperature`,
      `sensors/a/${'x'.repeat(65)}`,
    ]) {
      assert.equal(match(standard, topic), 'invalid_name', topic);
    }
    const found = compileTopicTemplate(standard).match('sensors/../t');
    assert.ok(found instanceof DecodeError);
    assert.match(found.message, /topic "sensors\/..\/t": device segment ".." must be letters/);
  });

  it('escapes characters that names cannot have, and changes no valid name', () => {
    const standard = 'sensors/{device+}/{metric}';
    assert.deepEqual(match(standard, 'sensors/Living Room/Lamp 1/temp (C)'), [
      'Living~20Room/Lamp~201',
      'temp~20~28C~29',
    ]);
    assert.deepEqual(match(standard, 'sensors/a~20b/x'), ['a~20b', 'x']);
  });

  it('joins the levels of a metric with dots', () => {
    assert.deepEqual(match('shellies/{device}/{metric+}', 'shellies/plug/relay/0/power'), [
      'plug',
      'relay.0.power',
    ]);
    assert.equal(match('shellies/{device}/{metric+}', 'shellies/plug'), 'none');
    const other = ['a.b', 'a/b', 'a/b.c', 'a.b/c', 'a/b/c', 'a b', 'a/ b'].map(
      (levels) => match('s/{device}/{metric+}', `s/dev/${levels}`)[1],
    );
    assert.deepEqual(other, ['a~2Eb', 'a.b', 'a.b~2Ec', 'a~2Eb.c', 'a.b.c', 'a~20b', 'a.~20b']);
    assert.equal(compileTopicTemplate('a/{metric+}').filter, 'a/#');
  });

  it('captures further levels that the mapping uses', () => {
    const template = compileTopicTemplate('homie/{device}/{node}/{metric}', { captures: ['node'] });
    assert.equal(template.filter, 'homie/+/+/+');
    assert.deepEqual(template.match('homie/kitchen/air sensor/t'), {
      device: 'kitchen',
      metric: 't',
      full: 'kitchen/t',
      captured: { node: 'air sensor' },
    });
    assert.throws(
      () => compileTopicTemplate('homie/{device}/{nod}', { captures: ['node'] }),
      /no template of the mapping uses \{nod\}/,
    );
    assert.throws(() => compileTopicTemplate('{a}/{a}', { captures: ['a'] }), /names \{a\} twice/);
  });

  it('is refused with the reason when it is invalid', () => {
    const refused: [string, RegExp][] = [
      ['', /empty; try sensors/],
      ['a/#/b', /# must be its last level/],
      ['{device+}/#', /only one level can match several levels/],
      ['{device}/{device+}', /names the device twice/],
      ['{metric}/{metric}', /names the metric twice/],
      ['a/{sensor}', /level "\{sensor\}" is neither/],
      ['probe-{device}', /level "probe-\{device\}" is neither/],
      ['a/b+', /level "b\+" is neither/],
      ['{metric++}', /neither/],
      ['{metric+}/{metric}', /names the metric twice/],
      ['$share/group/a', /without \$share/],
      ['a\0b', /NUL/],
      ['x'.repeat(65_536), /65535 bytes/],
    ];
    for (const [template, why] of refused) {
      assert.throws(() => compileTopicTemplate(template), { name: 'TypeError', message: why });
    }
  });

  it('reads the device and metric from which a topic was made', () => {
    const word = fc.stringMatching(/^[a-z0-9_:-]{1,12}$/);
    const path = fc.array(word, { minLength: 1, maxLength: 8 }).map((segments) => segments.join('/'));
    const makers = ['sensors/{device+}/{metric}', '{metric}/{device+}', '{device+}/x/{metric}/y'];
    fc.assert(
      fc.property(fc.constantFrom(...makers), path, word, (template, device, metric) => {
        const topic = template.replace('{device+}', device).replace('{metric}', metric);
        assert.deepEqual(match(template, topic), [device, metric]);
      }),
    );
  });

  it('has a result for any topic, and quickly for the longest', () => {
    const template = compileTopicTemplate('{device+}/a/{metric}/a');
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        template.match(Buffer.from(bytes).toString());
      }),
    );
    const started = performance.now();
    assert.ok(template.match('a/'.repeat(32_000)) === null);
    assert.ok(performance.now() - started < 1000);
  });
});
