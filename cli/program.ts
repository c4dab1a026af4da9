import { Command } from 'commander';
import { addAggregateCommands } from './commands/aggregate-command';
import { addAliasCommands } from './commands/alias-commands';
import { addAnalyseCommand } from './commands/analyse-command';
import { addAskCommand } from './commands/ask-command';
import { addBackupCommands } from './commands/backup-commands';
import { addBenchCommand } from './commands/bench-command';
import { addClusterCommands } from './commands/cluster-commands';
import { addCollectionCommands } from './commands/collection-commands';
import { addCompletionCommand } from './commands/completion-command';
import type { AddCommand } from './commands/connected-command';
import { addDemoCommand } from './commands/demo-command';
import { addDocumentCommands } from './commands/document-commands';
import { addExportCommand } from './commands/export-command';
import { addImportCommand } from './commands/import-command';
import { addJobCommands } from './commands/job-commands';
import { addJudgementCommands } from './commands/judgement-commands';
import { addKeyCommands } from './commands/key-commands';
import { addMcpCommand } from './commands/mcp-command';
import { addMigrateCommand } from './commands/migrate-command';
import { addProfileCommands } from './commands/profile-commands';
import { addRoles } from './commands/roles';
import { addSearchCommand } from './commands/search-command';
import { addTryCommand } from './commands/try-command';
import type { CommandContext } from './command-context';
import { CommandError, EXIT_CODES } from './command-error';

/** Every command of this room, in the order of the help. A new one is a line here and a file in commands/. */
const COMMANDS: AddCommand[] = [
  addCollectionCommands,
  addAliasCommands,
  addSearchCommand,
  addAskCommand,
  addAggregateCommands,
  addAnalyseCommand,
  addJudgementCommands,
  addImportCommand,
  addDocumentCommands,
  addMigrateCommand,
  addExportCommand,
  addBenchCommand,
  addKeyCommands,
  addClusterCommands,
  addBackupCommands,
  addJobCommands,
  addProfileCommands,
  addDemoCommand,
  addMcpCommand,
  addCompletionCommand,
];

/** The whole command line, for running, help, completion and its page in docs/. */
export function buildProgram(context: CommandContext): Command {
  const program = new Command('quiver')
    .description('Moves vectors in and out of a Quiver service and looks after it; runs the service itself, too.')
    .usage('<command> [options]')
    .version(context.version, '-V, --version', 'show the version')
    .helpCommand('help [command]', 'show what there is, or what a command takes')
    .showSuggestionAfterError(true)
    .showHelpAfterError('(quiver help <command> shows what it takes)')
    .configureOutput({
      writeOut: (text) => context.output.write(text),
      writeErr: (text) => context.messages.write(text),
    })
    .addHelpText(
      'after',
      '\nThe service is the one at QUIVER_URL or of a profile (quiver help profile), with the key in QUIVER_API_KEY.\ndocs/command-line.md has examples and the exit codes.',
    )
    .exitOverride();
  program.hook('preAction', (_program, command) => refuseDots(command));
  addRoles(program);
  addTryCommand(program, context);
  program
    .command('version')
    .description('show the version')
    .action(() => void context.output.write(`${context.version}\n`));
  program.commandsGroup('Use a service:');
  for (const add of COMMANDS) add(program, context);
  return program;
}

/** Names that mean another folder in every address: the request would go elsewhere. */
function refuseDots(command: Command): void {
  const names = [
    ...command.registeredArguments.map((argument, i) =>
      ['collection', 'name'].includes(argument.name()) ? command.args[i] : undefined,
    ),
    (command.opts() as { into?: string }).into,
  ];
  const name = names.find((each) => each === '.' || each === '..' || each === '');
  if (name !== undefined)
    throw new CommandError(
      name === '' ? 'a name is empty' : `"${name}" can not be a name in an address`,
      EXIT_CODES.usage,
    );
}
