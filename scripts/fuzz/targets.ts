import { fuzzTargets as ofMqttSession } from '../../packages/mqtt-session/test/fuzz-targets.ts';
import { fuzzTargets as ofReadings } from '../../packages/readings/test/fuzz-targets.ts';
import { fuzzTargets as ofApi } from '../../services/api/test/fuzz-targets.ts';
import type { FuzzTarget } from './fuzz-target.ts';

/** All targets. A module for `runTarget`. */
export const fuzzTargets: readonly FuzzTarget[] = [...ofMqttSession, ...ofReadings, ...ofApi];
