import { PassThrough } from 'node:stream';
import { CommanderError } from 'commander';
import type { CommandContext } from '../../../cli/command-context';
import { CommandError } from '../../../cli/command-error';
import { buildProgram } from '../../../cli/program';

export interface CommandResult {
  exitCode: number;
  output: string;
  messages: string;
}

/** Runs a command of the command line in this process; what it would print is answered. */
export async function runCommand(words: string[], environment: Record<string, string> = {}): Promise<CommandResult> {
  const [output, messages] = [new PassThrough(), new PassThrough()];
  const printed = { output: '', messages: '' };
  output.on('data', (chunk: Buffer) => (printed.output += chunk.toString()));
  messages.on('data', (chunk: Buffer) => (printed.messages += chunk.toString()));
  let exitCode = 0;
  const context: CommandContext = {
    version: '0.0.0',
    scripts: '',
    environment,
    input: new PassThrough(),
    output,
    messages,
    signal: new AbortController().signal,
    exitWith: (code) => (exitCode = code),
  };
  try {
    await buildProgram(context).parseAsync(words, { from: 'user' });
  } catch (error) {
    if (error instanceof CommandError) {
      exitCode = error.exitCode;
      messages.write(`${error.message}\n`);
    } else if (error instanceof CommanderError) exitCode = 2;
    else throw error;
  }
  await new Promise(setImmediate);
  return { exitCode, ...printed };
}
