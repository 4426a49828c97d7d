import { runProgram } from '@tidegauge/process';
import { ROOT } from '../setup.js';
import { type Component, productionComponents, purlOf } from './components.ts';
import { isExpression } from './licenses.ts';

/** The parts of a CycloneDX 1.5 document that are read or changed. */
export interface Sbom {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly metadata: { readonly component: { readonly name: string; readonly version: string } };
  readonly components: readonly { readonly name: string; readonly purl?: string }[];
}

/**
 * A software bill of materials in CycloneDX 1.5: the npm packages in production, as `npm sbom` reports them, and the
 * Python packages. Packages of the systems in images are not in it.
 *
 * @throws {ProgramError} when node_modules is not what package-lock.json describes
 */
export async function createSbom(): Promise<Sbom> {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev'];
  const { stdout } = await runProgram('npm', args, { cwd: ROOT });
  const sbom = JSON.parse(stdout) as Sbom;
  const python = productionComponents().filter(({ ecosystem }) => ecosystem === 'pypi');
  return {
    ...sbom,
    // npm uses the name of the folder.
    metadata: { ...sbom.metadata, component: { ...sbom.metadata.component, name: 'tidegauge' } },
    components: [...sbom.components, ...python.map(entryOf)],
  };
}

function entryOf(component: Component) {
  const { name, version, license } = component;
  const purl = purlOf(component);
  const licenses =
    license === null
      ? []
      : [isExpression(license) ? { expression: license } : { license: { name: license } }];
  return { 'bom-ref': purl, type: 'library', name, version, scope: 'required', purl, licenses };
}
