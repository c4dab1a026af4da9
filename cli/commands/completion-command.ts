import type { Command } from 'commander';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** A command with what can follow it. */
interface Completed {
  /** "keys create"; empty for the program itself. */
  path: string;
  words: { word: string; description: string; takesValue: boolean; choices: readonly string[] }[];
}

/** Completion of commands, options and their choices, made of the commands themselves; file names elsewhere. */
export function addCompletionCommand(program: Command, context: CommandContext): void {
  program
    .command('completion')
    .description('print a completion script: source <(quiver completion bash)')
    .argument('<shell>', SHELLS.join(', '))
    .action((shell: string) => {
      const all = completedCommands(program);
      const script =
        shell === 'bash'
          ? bashScript(all)
          : shell === 'zsh'
            ? zshScript(all)
            : shell === 'fish'
              ? fishScript(all)
              : null;
      if (script === null)
        throw new CommandError(`"${shell}" is no shell that can be completed: ${SHELLS.join(', ')}`, EXIT_CODES.usage);
      context.output.write(script);
    });
}

function completedCommands(command: Command, path = ''): Completed[] {
  const subcommands = command.commands.map((one) => ({
    word: one.name(),
    description: one.description(),
    takesValue: false,
    choices: [],
  }));
  const options = [
    ...command.options,
    ...command
      .createHelp()
      .visibleOptions(command)
      .filter(({ long }) => long === '--help'),
  ].flatMap((option) =>
    option.long === undefined || option.long === null
      ? []
      : [
          {
            word: option.long,
            description: option.description,
            takesValue: option.required,
            choices: option.argChoices ?? [],
          },
        ],
  );
  const help =
    path === ''
      ? [
          {
            word: 'help',
            description: 'show what there is, or what a command takes',
            takesValue: false,
            choices: command.commands.map((one) => one.name()),
          },
        ]
      : [];
  return [
    { path, words: [...subcommands, ...help, ...options] },
    ...command.commands.flatMap((one) => completedCommands(one, path === '' ? one.name() : `${path} ${one.name()}`)),
  ];
}

function bashScript(all: Completed[]): string {
  const lists = all.map(({ path, words }) => `    "${path}") words="${words.map(({ word }) => word).join(' ')}" ;;`);
  const values = all.flatMap(({ path, words }) =>
    words
      .filter(({ takesValue }) => takesValue)
      .map(
        ({ word, choices }) =>
          `    "${path} ${word}") ${choices.length === 0 ? 'files=1' : `values="${choices.join(' ')}"`} ;;`,
      ),
  );
  return `# Completion of quiver for bash: source <(quiver completion bash)
_quiver() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path="" word i words="" values="" files=""
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "\${path:+$path }$word" in
${all
  .filter(({ path }) => path !== '')
  .map(({ path }) => `      "${path}") path="${path}" ;;`)
  .join('\n')}
    esac
  done
  case "$path $previous" in
${values.join('\n')}
  esac
  case "$path" in
${lists.join('\n')}
  esac
  if [[ -n $values ]]; then COMPREPLY=($(compgen -W "$values" -- "$current"))
  elif [[ -n $files ]]; then COMPREPLY=($(compgen -f -- "$current"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    [[ \${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -o filenames -F _quiver quiver
`;
}

function zshScript(all: Completed[]): string {
  const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const lists = all.map(
    ({ path, words }) =>
      `    ${quote(path)}) words=(${words.map(({ word, description }) => quote(`${word.replaceAll(':', '\\:')}:${description}`)).join(' ')}) ;;`,
  );
  const values = all.flatMap(({ path, words }) =>
    words
      .filter(({ choices, takesValue }) => takesValue && choices.length > 0)
      .map(({ word, choices }) => `    ${quote(`${path} ${word}`)}) values=(${choices.join(' ')}) ;;`),
  );
  return `#compdef quiver
# Completion of quiver for zsh: quiver completion zsh > "\${fpath[1]}/_quiver", or source <(quiver completion zsh)
_quiver() {
  local trail="" word i
  local -a words_before=("\${(@)words[2,CURRENT-1]}") list values
  for word in $words_before; do
    case "\${trail:+$trail }$word" in
${all
  .filter(({ path }) => path !== '')
  .map(({ path }) => `      ${quote(path)}) trail=${quote(path)} ;;`)
  .join('\n')}
    esac
  done
  case "$trail \${words[CURRENT-1]}" in
${values.join('\n')}
  esac
  if (( $#values )); then compadd -a values; return; fi
  case "$trail" in
${lists.map((line) => line.replace('words=(', 'list=(')).join('\n')}
  esac
  _describe 'quiver' list
  _files
}
compdef _quiver quiver
`;
}

function fishScript(all: Completed[]): string {
  const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const lines = all.flatMap(({ path, words }) => {
    const [command, subcommand] = path.split(' ');
    const condition =
      path === ''
        ? '__fish_use_subcommand'
        : subcommand === undefined
          ? `__fish_seen_subcommand_from ${command}`
          : `__fish_seen_subcommand_from ${command}; and __fish_seen_subcommand_from ${subcommand}`;
    return words.map(({ word, description, takesValue, choices }) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`;
      const value = !takesValue ? '' : choices.length > 0 ? ` -x -a ${quote(choices.join(' '))}` : ' -r';
      return `complete -c quiver -n ${quote(condition)} ${what}${value} -d ${quote(description)}`;
    });
  });
  return `# Completion of quiver for fish: quiver completion fish > ~/.config/fish/completions/quiver.fish\n${lines.join('\n')}\n`;
}
