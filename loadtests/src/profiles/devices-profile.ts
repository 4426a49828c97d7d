import { defineConfig, integer, type Kind } from '@tidegauge/service';
import { deviceItems } from '../loading/load-fleet.ts';
import { DEVICE_OPERATIONS } from '../operations/device-operations.ts';
import type { DeviceOperationType, DevicesPart } from '../operations/plan.ts';
import { checkApiTarget, fill, provideApi, provideClient, provideStore } from '../targets/targets.ts';
import type { Profile } from './profile.ts';
import { API_SETTINGS, COMMON_SETTINGS, modelOf, PHASE_SETTING, STORE_SETTINGS } from './settings.ts';

const TOLERANCE = 1e-6;

/** `selectOne=0.8,selectSome=0.15,updateSome=0.05`. */
const mix: Kind<DevicesPart['mix']> = {
  takes: `shares that add up to 1, of ${DEVICE_OPERATIONS.join(', ')}, such as selectOne=0.9,selectSome=0.1`,
  parse(value) {
    const shares: Record<DeviceOperationType, number> = { selectOne: 0, selectSome: 0, updateSome: 0 };
    for (const part of value.split(',')) {
      const [name, share, ...rest] = part.split('=');
      const type = DEVICE_OPERATIONS.find((each) => each === name);
      if (type === undefined) throw new Error(`there is no operation ${name}`);
      if (!/^\d*\.?\d+$/.test(share ?? '') || rest.length > 0) throw new Error(`${part} has no share`);
      shares[type] = Number(share);
    }
    const sum = Object.values(shares).reduce((total, share) => total + share, 0);
    if (Math.abs(sum - 1) > TOLERANCE) throw new Error(`they add up to ${Number(sum.toFixed(6))}`);
    return shares;
  },
};

const SETTINGS = defineConfig({
  ...COMMON_SETTINGS,
  ...STORE_SETTINGS,
  ...API_SETTINGS,
  ...PHASE_SETTING,
  devices: { kind: integer(1, 10_000_000), default: '20000', help: 'Devices in the register.' },
  mix: {
    kind: mix,
    default: 'selectOne=0.8,selectSome=0.15,updateSome=0.05',
    help: 'How often to read one by name, to read those of a year, and to change those of a year.',
  },
});

/** The register of devices over HTTP. */
export const devicesProfile: Profile<typeof SETTINGS, DevicesPart> = {
  summary: 'The register of devices: select one, select some, update some.',
  settings: SETTINGS,
  takesProperties: false,
  script: 'devices.ts',
  operations: ['select_one', 'select_some', 'update_some'],
  check(config) {
    checkApiTarget(config);
    return { profile: 'devices', model: modelOf(config, null), devices: config.devices, mix: config.mix };
  },
  async prepare(config, part, preparation) {
    const { closers } = preparation;
    const api = config.api ?? (await provideApi(await provideStore(config.store, closers), closers));
    const client = provideClient(config, closers);
    await fill(deviceItems(api, client, config.devices), config, preparation);
    if (config.phase === 'load') return null;
    return { parts: [part], api: { url: api, token: config.apiToken }, broker: null };
  },
};
