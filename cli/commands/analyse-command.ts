import { type Command, Option } from 'commander';
import type { CommandContext } from '../command-context';
import { printJson } from '../terminal/print';
import { table } from '../terminal/table';
import { type ConnectionOptions, connect, connected } from './connected-command';

interface AnalyseOptions extends ConnectionOptions {
  as?: 'document' | 'query';
  json?: true;
}

const WIDTH = 120;

export function addAnalyseCommand(program: Command, context: CommandContext): void {
  connected(
    program
      .command('analyse')
      .description('show how a collection’s keyword search cuts a text into terms')
      .argument('<collection>')
      .argument('<text...>'),
  )
    .addOption(
      new Option('--as <what>', 'as a stored text, or as a query (default: document)').choices(['document', 'query']),
    )
    .option('--json', 'print JSON')
    .action(async (name: string, words: string[], options: AnalyseOptions) => {
      const text = words.join(' ');
      const answer = await connect(context, options)
        .client.collection(name)
        .analyse({ text, ...(options.as !== undefined && { as: options.as }) });
      if (options.json) return printJson(context, answer);
      const rows = answer.terms.map(({ term, start, end, stop_word: isStopWord }) => [
        term,
        start,
        end,
        text.slice(start, end),
        isStopWord ? 'yes' : null,
      ]);
      const isTerminal = (context.output as { isTTY?: boolean }).isTTY === true;
      const width = isTerminal ? ((context.output as { columns?: number }).columns ?? WIDTH) : Infinity;
      context.output.write(table(['term', 'start', 'end', 'of', 'stop word'], rows, width));
      context.messages.write(`${answer.analyser}, version ${answer.version}\n`);
    });
}
