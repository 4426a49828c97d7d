import { defineCommand, EXIT, flagName, isGroup, oneOf, run, type Schema } from '@tidegauge/service/program';
import { isInstalled, loadProgram, PROGRAMS } from './programs.ts';

export const program = defineCommand({
  name: 'tidegauge completion',
  summary: 'Prints a script that completes commands, subcommands and options in a shell.',
  details: 'A line of .bashrc, or of .zshrc after compinit:',
  examples: ['source <(tidegauge completion bash)', 'source <(tidegauge completion zsh)'],
  settings: {
    shell: { kind: oneOf(['bash', 'zsh']), positional: true, required: true, help: 'The shell.' },
  },
  async run({ shell }) {
    // zsh has a module that understands the script of bash.
    if (shell === 'zsh') process.stdout.write('autoload -Uz bashcompinit && bashcompinit\n');
    process.stdout.write(await bashScript());
    return EXIT.OK;
  },
});

/** A case has a pattern for the number of the word, the program and its subcommand. The first match counts. */
async function bashScript(): Promise<string> {
  const names = Object.keys(PROGRAMS).filter((name) => isInstalled(PROGRAMS[name]!));
  const cases = [caseOf("'1 '*", [...names, '--help', '--version'])];
  for (const name of names) {
    const { program: loaded } = await loadProgram(name);
    if (loaded === undefined) continue;
    if (!isGroup(loaded)) {
      cases.push(caseOf(`*' ${name} '*`, optionsOf(loaded.settings)));
      continue;
    }
    cases.push(caseOf(`'2 ${name} '*`, [...Object.keys(loaded.commands), '--help']));
    for (const [command, { settings }] of Object.entries(loaded.commands)) {
      cases.push(caseOf(`*' ${name} ${command}'`, optionsOf(settings)));
    }
  }
  return `_tidegauge() {
  local choices=
  case "$COMP_CWORD \${COMP_WORDS[1]} \${COMP_WORDS[2]-}" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$choices" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _tidegauge tidegauge
`;
}

function caseOf(pattern: string, words: readonly string[]): string {
  return `    ${pattern}) choices='${words.join(' ')}' ;;`;
}

function optionsOf(settings: Schema): readonly string[] {
  const keys = Object.keys(settings).filter((key) => !settings[key]!.positional);
  return [...keys.map(flagName), '--help', '--print-config'];
}

if (import.meta.main) process.exitCode = await run(program);
