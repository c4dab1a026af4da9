import { CommanderError } from 'commander';
import { CommandError, EXIT_CODES } from './command-error';
import type { CommandContext } from './command-context';
import { commandErrorFrom } from './connection/service-error';
import { describeUnknown, unknownClientSettings } from '../shared/base/config/unknown-settings';
import { buildProgram } from './program';
import { printableLines } from './terminal/table';

/**
 * They interrupt a command, which leaves everything in order; a second one ends it at once. SIGHUP: its terminal goes
 * away.
 */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** How long what it still had to say may take after that: nobody may read it. */
const LAST_WORDS_MS = 500;

/**
 * Runs the command that the words say, and sets the exit code. Called by scripts/quiver.cjs, with the version of the
 * program and its own folder.
 */
export async function main(words: string[], version: string, scripts: string): Promise<void> {
  const stop = new AbortController();
  const onSignal = (): void => {
    for (const name of SIGNALS) process.removeListener(name, onSignal);
    stop.abort();
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  // `quiver … | head` closes the pipe: nobody reads on.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') process.stderr.write(`standard output: ${error.message}\n`);
    process.exit(error.code === 'EPIPE' ? EXIT_CODES.done : EXIT_CODES.failed);
  });
  // Bars and messages tell of the work, and do not end it.
  process.stderr.on('error', () => undefined);
  const context: CommandContext = {
    version,
    scripts,
    environment: process.env,
    input: process.stdin,
    output: process.stdout,
    messages: process.stderr,
    signal: stop.signal,
    exitWith: () => {},
  };
  // Until it is done: a command that waits for what never comes ends without a word, and is no success.
  process.exitCode = EXIT_CODES.failed;
  let code: number = EXIT_CODES.done;
  try {
    await run(words, { ...context, exitWith: (wanted) => (code = wanted) });
    process.exitCode = code;
  } catch (error) {
    process.exitCode = report(commandErrorFrom(error as Error), context);
  } finally {
    for (const name of SIGNALS) process.removeListener(name, onSignal);
    // Node would wait for whoever reads standard output.
    if (stop.signal.aborted) setTimeout(() => process.exit(), LAST_WORDS_MS).unref();
  }
}

async function run(words: string[], context: CommandContext): Promise<void> {
  for (const unknown of unknownClientSettings(context.environment))
    context.messages.write(`${describeUnknown(unknown)}\n`);
  const program = buildProgram(context);
  if (words.length === 0) {
    context.messages.write(`usage: quiver ${program.usage()}\nquiver help lists the commands.\n`);
    context.exitWith(EXIT_CODES.usage);
    return;
  }
  await program.parseAsync(words, { from: 'user' });
}

/** Says what went wrong, and answers the exit code. */
function report(error: Error, context: CommandContext): number {
  // Commander has said it already; its own codes are 0 for help and 1 for mistakes.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.done : EXIT_CODES.usage;
  if (context.signal.aborted) {
    context.messages.write(
      error instanceof CommandError && error.exitCode === EXIT_CODES.interrupted
        ? `${printableLines(error.message)}\n`
        : 'interrupted\n',
    );
    return EXIT_CODES.interrupted;
  }
  // Paths, and what a service says, may hold anything.
  if (error instanceof CommandError) {
    context.messages.write(`${printableLines(error.message)}\n`);
    return error.exitCode;
  }
  // Of the system: a full disk, a file that may not be read.
  if ('syscall' in error) {
    context.messages.write(`${printableLines(error.message)}\n`);
    return EXIT_CODES.failed;
  }
  // A mistake of ours: its stack says where.
  context.messages.write(`${error.stack ?? error.message}\n`);
  return EXIT_CODES.failed;
}
