import { rotMain } from '@tidegauge/test-support/rot';
import { backupSubject } from './subject.ts';

await rotMain(async (folder) => [await backupSubject(folder)]);
