import type { Config, Gone, Schema } from './settings.ts';

/** What the help prints about a program. */
interface Description<S extends Schema> {
  /** The command as the user types it: `tidegauge ingest`, `npm run lab`. */
  readonly name: string;
  /** What the program does, in one or two sentences. */
  readonly summary: string;
  /** More paragraphs for the help: lists, conditions, what is printed. Kept as they are. */
  readonly details?: string;
  /** Complete command lines. */
  readonly examples?: readonly string[];
  readonly settings: S;
  /** Settings of earlier versions. */
  readonly gone?: Gone;
}

/** What a started service gives back: how to stop it without losing anything. */
export interface Running {
  stop(): Promise<void>;
  /** The URL where it listens. A parent that started it with a channel receives it when the service is ready. */
  readonly url?: string;
  /** Rejects with the reason when the service fails. Never settles while it works. */
  readonly failed?: Promise<never>;
}

/** A program that runs until it is stopped. It is configured by options and environment variables. */
export interface Service<S extends Schema> extends Description<S> {
  /** Seconds from the first signal to the end of the process at the latest, also while it starts. */
  stopSeconds(config: Config<S>): number;
  start(config: Config<S>, signal: AbortSignal): Promise<Running>;
}

/** A program that ends when its work is done. */
export interface Command<S extends Schema> extends Description<S> {
  /** Default: options only, and environment variables for secrets. */
  readonly configuredBy?: 'environment' | 'options';
  /** It can end with `EXIT.INVALID`, which its help lists. */
  readonly measures?: true;
  /**
   * Does the work. Resolves to the exit code, one of `EXIT`. A rejection is printed, and ends with 1 or 2.
   *
   * @param signal aborted when the user interrupts the program
   */
  run(config: Config<S>, signal: AbortSignal): Promise<number> | number;
}

/** A program with subcommands: `tidegauge keys create`. */
export interface CommandGroup extends Omit<Description<Schema>, 'settings'> {
  readonly commands: Readonly<Record<string, Command<Schema>>>;
}

export type Program<S extends Schema = Schema> = Service<S> | Command<S> | CommandGroup;

/** Keeps the types of a command's settings where its definition is exported or is part of a group. */
export function defineCommand<const S extends Schema>(command: Command<S>): Command<Schema> {
  // `run` receives exactly what its own settings give.
  return command as unknown as Command<Schema>;
}

/** As `defineCommand`, for a service. */
export function defineService<const S extends Schema>(service: Service<S>): Service<Schema> {
  return service as unknown as Service<Schema>;
}

export function isGroup(program: Program): program is CommandGroup {
  return 'commands' in program;
}

export function isService(program: Program): program is Service<Schema> {
  return 'start' in program;
}

/** Whether its settings come from the environment too, or from options only. */
export function configuredBy(program: Service<Schema> | Command<Schema>): 'environment' | 'options' {
  return isService(program) ? 'environment' : (program.configuredBy ?? 'options');
}

/** The command of a program as it precedes its arguments: npm passes on only what follows `--`. */
export function beforeArguments(name: string): string {
  return name.startsWith('npm ') && !name.includes(' -- ') ? `${name} --` : name;
}
