import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cleanName } from '@tidegauge/readings';
import fc from 'fast-check';
import { nameText } from '../../public/names.js';

test('a name is shown with the characters that its sender wrote', () => {
  for (const text of ['Bäder & <b>Küche<', 'Living Room', 'T (°C)', '[a]{b}', 'Lamp 💡', '100 %', 'plain-1'])
    assert.equal(nameText(cleanName(text)), text);
  assert.equal(nameText('site~201/roof~20top'), 'site 1/roof top');
});

test('what is invisible, separates parts, or is not an escape stays as it is stored', () => {
  const hidden = [
    'a\0',
    'a\u202eb',
    'a\u200bb',
    'a\u00a0b',
    'a\ufeff',
    'a\u2215b',
    'a/b',
    '..',
    '~',
    '~41',
    '',
  ];
  for (const text of hidden) assert.equal(nameText(cleanName(text)), cleanName(text));
  // Topics can have these.
  for (const name of ['a~41', 'a~2Fb', 'a~2E', 'a~7E20', 'a~FFb', 'a~c3', 'a~C0~A0'])
    assert.equal(nameText(name), name);
});

test('spaces that a browser would join or cut stay as they are stored', () => {
  assert.equal(nameText('~20a~20~20b~20/~20c'), '~20a~20~20b~20/~20c');
});

test('two names are never shown as the same text, because each text gives its name back', () => {
  const escaped = (each: string) => Buffer.from(each).toString('hex').toUpperCase().replace(/../g, '~$&');
  const name = fc.stringMatching(/^(?:~|~20|~22|~41|~2F|~7E|~C2|~B0|~F0~9F~92~A1|a|\/|2|0){1,8}$/);
  fc.assert(
    fc.property(name, (each) => nameText(each).replace(/[^\w~/]/gu, escaped) === each),
    { numRuns: 2000 },
  );
});
