// Installs what the project needs on this machine; every other script does it too, when it has to.
import { setUpNode, setUpPython } from './setup.js';

setUpNode();
setUpPython();
