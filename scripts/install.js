// Installs what the project needs on this machine; every other script does it too, when it has to.
import { setUpAnalysis, setUpNode } from './setup.js';

setUpNode();
setUpAnalysis();
