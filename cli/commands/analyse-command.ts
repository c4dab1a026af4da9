import { type Command, Option } from 'commander';
import type { CommandContext } from '../command-context';
import { outputWidth, printJson } from '../terminal/print';
import { table } from '../terminal/table';
import { type ConnectionOptions, connect, connected } from './connected-command';

interface AnalyseOptions extends ConnectionOptions {
  as?: 'document' | 'query';
  field?: string;
  json?: true;
}

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
    .option('--field <path>', 'as this one of its keyword fields')
    .option('--json', 'print JSON')
    .action(async (name: string, words: string[], options: AnalyseOptions) => {
      const text = words.join(' ');
      const answer = await connect(context, options)
        .client.collection(name)
        .analyse({
          text,
          ...(options.as !== undefined && { as: options.as }),
          ...(options.field !== undefined && { field: options.field }),
        });
      if (options.json) return printJson(context, answer);
      const rows = answer.terms.map(({ term, start, end, stop_word: isStopWord }) => [
        term,
        start,
        end,
        text.slice(start, end),
        isStopWord ? 'yes' : null,
      ]);
      context.output.write(table(['term', 'start', 'end', 'of', 'stop word'], rows, outputWidth(context)));
      context.messages.write(`${answer.analyser}, version ${answer.version}\n`);
    });
}
