import type { Random } from '@tidegauge/workload';
import type { ModelFile } from './model-file.ts';

/** Names of new, renamed and removed files that are changed in one step. Null: removed. */
type NameChange = readonly (readonly [name: string, file: ModelFile | null])[];

/** A folder. After a power cut it has the names that were synced, and the first ones of the later changes. */
export class Folder {
  names = new Map<string, ModelFile>();
  #synced = new Map<string, ModelFile>();
  #unsynced: NameChange[] = [];
  /** Changes that are on the disk. */
  #settled = 0;

  change(change: NameChange): void {
    apply(this.names, change);
    this.#unsynced.push(change);
  }

  beginSync(): () => void {
    const end = this.#settled + this.#unsynced.length;
    return () => this.#settle(Math.max(0, end - this.#settled));
  }

  cutPower(random: Random): void {
    this.#settle(random.below(this.#unsynced.length + 1));
    this.#unsynced = [];
    this.names = new Map(this.#synced);
  }

  #settle(changes: number): void {
    for (const change of this.#unsynced.splice(0, changes)) {
      apply(this.#synced, change);
      this.#settled++;
    }
  }
}

function apply(names: Map<string, ModelFile>, change: NameChange): void {
  for (const [name, file] of change) file === null ? names.delete(name) : names.set(name, file);
}
