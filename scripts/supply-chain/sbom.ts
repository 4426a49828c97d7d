import { runProgram } from '@tidegauge/process';
import { ROOT } from '../setup.js';
import { sourceTime } from '../source-time.ts';
import { type Component, productionComponents, purlOf } from './components.ts';
import { isExpression } from './licenses.ts';

/** The parts of a CycloneDX 1.5 document that are read or changed. */
export interface Sbom {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly metadata: {
    readonly timestamp: string;
    readonly component: { readonly name: string; readonly version: string };
  };
  readonly components: readonly { readonly name: string; readonly purl?: string }[];
}

/**
 * A software bill of materials in CycloneDX 1.5: the npm packages in production, as `npm sbom` reports them, and the
 * Python packages. Packages of the systems in images are not in it.
 *
 * @throws {ProgramError} when node_modules is not what package-lock.json describes
 */
export async function createSbom(): Promise<Sbom> {
  const sbom = await npmSbom(ROOT);
  const python = productionComponents().filter(({ ecosystem }) => ecosystem === 'pypi');
  return { ...sbom, components: [...sbom.components, ...python.map(entryOf)] };
}

/**
 * The packages in production below a folder, as `npm sbom` reports them. The same folder gives the same document.
 *
 * @throws {ProgramError} when node_modules is not what its package.json files describe
 */
export async function npmSbom(folder: string): Promise<Sbom> {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev'];
  const { stdout } = await runProgram('npm', args, { cwd: folder });
  const { serialNumber: _, ...sbom } = JSON.parse(stdout) as Sbom & { readonly serialNumber: string };
  const timestamp = new Date((await sourceTime()) * 1000).toISOString();
  // npm uses the name of the folder.
  const component = { ...sbom.metadata.component, name: 'tidegauge' };
  return { ...sbom, metadata: { ...sbom.metadata, timestamp, component } };
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
