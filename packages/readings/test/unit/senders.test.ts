import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkMapping, DecodeError, presetNames, presets } from '@tidegauge/readings';
import { autoResult, brief, decodeMessage, expectedOf } from '../senders/decode-message.ts';
import { senderMessages } from '../senders/index.ts';

describe('a published message of a real sender', () => {
  for (const [index, message] of senderMessages.entries()) {
    it(`${index + 1}: ${message.preset ?? message.sender} ${message.topic}`, () => {
      const decoded = decodeMessage(message);
      if (decoded.readings instanceof DecodeError) assert.fail(`${decoded.readings}`);
      assert.deepEqual(brief(decoded.readings), expectedOf(message));
      for (const [metric, unit] of Object.entries(message.units ?? {})) {
        assert.equal(decoded.units[metric], unit, `the unit of ${metric}`);
      }
      for (const metric of message.noUnits ?? []) assert.equal(decoded.units[metric], undefined, metric);
      for (const field of message.ignored ?? []) {
        assert.ok(Object.hasOwn(decoded.ignored, field), `${field} is reported as ignored`);
      }
      if (message.auto !== undefined) assert.equal(autoResult(message, decoded), message.auto, 'with auto');
    });
  }

  it('is known for every preset', () => {
    const known = new Set(senderMessages.map(({ preset }) => preset));
    assert.deepEqual(
      presetNames.filter((name) => !known.has(name)),
      [],
    );
  });

  it('has a source', () => {
    assert.ok(senderMessages.length >= 80);
    for (const { source } of senderMessages) assert.match(source, /^(?:[\w.-]+\/[\w.-]+[, (]|RFC |[A-Za-z])/);
  });
});

describe('the mapping of a preset', () => {
  for (const name of presetNames) {
    it(`has no mistake: ${name}`, () => {
      for (const { mapping } of presets[name]!.routes) {
        if (mapping !== 'ignore') assert.deepEqual(checkMapping(mapping), []);
      }
    });
  }
});
