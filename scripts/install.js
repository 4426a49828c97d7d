// Installs what the project needs on this machine; every other script does it too, when it has to.
import { setUpAnalysis, setUpNode, setUpPython } from './setup.js';

await setUpNode({ dev: true });
await setUpPython();
await setUpAnalysis();
