import { type Store, StoreError } from '@tidegauge/storage';

/** A real store that can be made unavailable: while `cut` is true, its calls fail like those of a stopped store. */
export class Outage {
  cut = false;
  readonly store: Store;

  constructor(store: Store) {
    const guarded = <T extends object>(part: T): T =>
      new Proxy(part, {
        get: (target, name) => {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== 'function') return value;
          return (...given: unknown[]) => {
            if (this.cut) throw new StoreError('UNAVAILABLE', 'the database does not accept connections');
            return Reflect.apply(value, target, given);
          };
        },
      });
    const parts = { readings: guarded(store.readings), devices: guarded(store.devices) };
    this.store = new Proxy(store, {
      get(target, name) {
        if (name === 'readings' || name === 'devices') return parts[name];
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }
}
