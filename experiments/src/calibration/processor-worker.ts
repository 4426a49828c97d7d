import { parentPort, workerData } from 'node:worker_threads';
import { loopRounds, type ProcessorTimes } from './processor-speed.ts';

/** A thread of `processorSpeeds`, one for each processor. */
parentPort!.postMessage(loopRounds(workerData as ProcessorTimes));
