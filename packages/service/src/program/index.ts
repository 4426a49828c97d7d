export { ConfigError } from './config-error.ts';
export { configTable, settingName } from './config-table.ts';
export { EXIT } from './exit-codes.ts';
export { printGroupHelp, printHelp } from './help.ts';
export * from './kinds.ts';
export { goneVariables, loadConfig, readSettings } from './load-config.ts';
export { type ConfiguredBy, printConfig } from './print-config.ts';
export {
  beforeArguments,
  type Command,
  type CommandGroup,
  configuredBy,
  defineCommand,
  defineService,
  isGroup,
  isService,
  type Program,
  type Running,
  type Service,
} from './program.ts';
export { type ErrorReport, reportError } from './report-error.ts';
export { run } from './run.ts';
export {
  argumentName,
  type Config,
  defineConfig,
  flagName,
  type Gone,
  inGroup,
  type Schema,
  type Setting,
  variableName,
} from './settings.ts';
export { whyFailed } from './why-failed.ts';
