import { rotMain } from '@tidegauge/test-support/rot';
import { rotSubjects } from './subjects.ts';

await rotMain(rotSubjects);
