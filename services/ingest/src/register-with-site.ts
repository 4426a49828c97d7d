import { forEach } from '@tidegauge/parallel';
import { firstLevelOf, unknownDevice } from '@tidegauge/readings';
import type { DeviceStore } from '@tidegauge/storage';

/** Devices that are looked up and created at the same time. */
const AT_ONCE = 16;

/**
 * Registers devices. A new one whose name has several levels gets the first level as its site: `site-3/boiler` gets
 * `site-3`. Known devices stay as they are.
 *
 * @throws {StoreError}
 */
export async function registerWithSite(devices: DeviceStore, names: readonly string[]): Promise<void> {
  await forEach(names, AT_ONCE, async (name) => {
    const site = firstLevelOf(name);
    if (site === name || (await devices.get(name)) !== null) return;
    await devices.put({ ...unknownDevice(name), site });
  });
  await devices.register(names);
}
