export { atExit } from './at-exit.ts';
export { commandLine } from './command-line.ts';
export { type Exit, exitText } from './exit.ts';
export { type LaunchOptions, launchServer, mirrorServerOutput, type ServerProcess } from './launch-server.ts';
export { nameWhenSlow } from './name-when-slow.ts';
export { freePort, freePorts, listens } from './ports.ts';
export {
  ProgramError,
  type ProgramOptions,
  type ProgramResult,
  runProgram,
  runProgramSync,
} from './run-program.ts';
export { FINDINGS, SecretWatch } from './secret-watch.ts';
export { type RunningProcess, type StartOptions, startProcess } from './start-process.ts';
export { suspend } from './suspend.ts';
export { temporaryDirectory } from './temporary-directory.ts';
export { waitUntil } from './wait-until.ts';
