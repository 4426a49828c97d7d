// Installs what the project needs on this machine; every other script does it too, when it has to.
import { setUpAnalysis, setUpNode, setUpPython } from './setup.js';

// npm and pip at once: each waits for its registry half of the time.
await Promise.all([setUpNode({ dev: true }), setUpPython().then(setUpAnalysis)]).catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
