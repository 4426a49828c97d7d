import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ROOT } from '../../setup.js';
import { AUDIT_EXIT, auditExit, readNpmAudit, readPipAudit } from '../../supply-chain/audit.ts';
import {
  npmComponents,
  PYTHON_REQUIREMENTS,
  parseMetadata,
  pinnedPackages,
  productionComponents,
} from '../../supply-chain/components.ts';
import { isAllowed } from '../../supply-chain/licenses.ts';
import { pythonLicense } from '../../supply-chain/python-license.ts';
import { createSbom } from '../../supply-chain/sbom.ts';

const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));

describe('the packages in production', () => {
  it('from npm have allowed licences', () => {
    const components = npmComponents(lock);
    assert.ok(components.length > 100, `${components.length} packages`);
    const refused = components.filter(({ license }) => license === null || !isAllowed(license));
    assert.deepEqual(refused, []);
  });

  it('from npm include dependencies of dependencies, and no development packages', () => {
    const names = new Set(npmComponents(lock).map(({ name }) => name));
    for (const name of ['express', 'qs', 'mqtt-packet', 'mariadb']) assert.ok(names.has(name), name);
    for (const name of ['typescript', 'fast-check', '@tidegauge/readings']) assert.ok(!names.has(name), name);
  });

  it('from PyPI that are installed have allowed licences', () => {
    const python = productionComponents().filter(({ ecosystem }) => ecosystem === 'pypi');
    for (const name of ['paho-mqtt', 'numpy'])
      assert.ok(
        python.some((each) => each.name === name),
        name,
      );
    const refused = python.filter(({ license }) => license !== null && !isAllowed(license));
    assert.deepEqual(refused, []);
  });

  it('from PyPI are pinned with the digests of their files', () => {
    for (const file of PYTHON_REQUIREMENTS) {
      const text = readFileSync(join(ROOT, file), 'utf8');
      const entries = text.replaceAll('\\\n', '').match(/^[A-Za-z].*/gm) ?? [];
      assert.equal(pinnedPackages(text).length, entries.length, file);
      for (const entry of entries) assert.match(entry, /^\S+==\S+ .*--hash=sha256:[0-9a-f]{64}/, file);
    }
  });

  it('are in the bill of materials, npm and Python', async () => {
    const { bomFormat, metadata, components } = await createSbom();
    assert.equal(bomFormat, 'CycloneDX');
    assert.equal(metadata.component.name, 'tidegauge');
    const purls = new Set(components.map(({ purl }) => purl?.replace(/@[^@]*$/, '')));
    for (const purl of ['pkg:npm/express', 'pkg:npm/%40mongodb-js/saslprep', 'pkg:pypi/paho-mqtt'])
      assert.ok(purls.has(purl), purl);
    assert.ok(!purls.has('pkg:npm/typescript'));
  });
});

describe('a licence', () => {
  it('is allowed when all of AND, or one of OR, is', () => {
    for (const expression of [
      'MIT',
      'MIT AND ISC',
      'GPL-3.0-only OR MIT',
      '(EPL-2.0 OR BSD-3-Clause) AND Zlib',
    ])
      assert.ok(isAllowed(expression), expression);
    for (const expression of [
      'GPL-3.0-or-later',
      'MIT AND AGPL-3.0-only',
      'SEE LICENSE IN x',
      'UNLICENSED',
      '',
    ])
      assert.ok(!isAllowed(expression), expression);
  });

  it('of a Python package is its expression, or what its text or its classifiers mean', () => {
    const of = (lines: string): string | null =>
      pythonLicense(
        parseMetadata(`Metadata-Version: 2.1\nName: a\nVersion: 1\n${lines}\n\nLicense: in the description`),
      );
    assert.equal(of('License-Expression: EPL-2.0 OR BSD-3-Clause'), 'EPL-2.0 OR BSD-3-Clause');
    assert.equal(of('License: MPL-2.0 AND MIT'), 'MPL-2.0 AND MIT');
    assert.equal(
      of('License: Copyright (c) 2015\nClassifier: License :: OSI Approved :: BSD License'),
      'LicenseRef-BSD',
    );
    assert.equal(of('License: 2-clause BSD'), 'BSD-2-Clause');
    assert.equal(of('License: our own'), 'our own');
    assert.equal(of('Summary: none'), null);
  });
});

describe('an audit', () => {
  it('lists vulnerable packages', () => {
    const npm = { vulnerabilities: { qs: { severity: 'high', range: '<6.2.4' } } };
    assert.deepEqual(readNpmAudit(JSON.stringify(npm), ''), { found: ['qs <6.2.4: high'], skipped: null });
    const pip = {
      dependencies: [
        { name: 'numpy', version: '1.0', vulns: [{ id: 'PYSEC-1' }] },
        { name: 'tqdm', version: '4', vulns: [] },
      ],
    };
    assert.deepEqual(readPipAudit(JSON.stringify(pip), ''), { found: ['numpy 1.0: PYSEC-1'], skipped: null });
  });

  it('is skipped with the reason when its service does not answer', () => {
    const refused = 'npm warn audit 405 Method Not Allowed - POST https://registry.example/advisories/bulk\n';
    const { found, skipped } = readNpmAudit('{"message":"405"}', refused);
    assert.deepEqual(found, []);
    assert.match(skipped!, /405 Method Not Allowed/);
    assert.match(readPipAudit('', 'ConnectionError: no route').skipped!, /ConnectionError/);
  });

  it('names packages without an answer of the service', () => {
    const pip = { dependencies: [{ name: 'numpy', skip_reason: 'not on PyPI' }] };
    assert.match(readPipAudit(JSON.stringify(pip), '').skipped!, /numpy/);
    assert.match(readPipAudit('{"dependencies":[]}', '').skipped!, /pip-audit failed/);
  });

  it('that is incomplete is not a success', () => {
    const clean = { what: 'a', found: [], skipped: null };
    const skipped = { what: 'b', found: [], skipped: 'no registry' };
    const found = { what: 'c', found: ['qs: high'], skipped: null };
    assert.equal(auditExit([clean]), AUDIT_EXIT.clean);
    assert.equal(auditExit([clean, skipped]), AUDIT_EXIT.unaudited);
    assert.equal(auditExit([skipped, found]), AUDIT_EXIT.found);
  });
});
