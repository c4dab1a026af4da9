import type { Command } from 'commander';
import type { AliasAction } from '../../clients/typescript/src/api';
import type { Alias } from '../../clients/typescript/src/generated/api-types';
import type { CommandContext } from '../command-context';
import { outputWidth, printJson } from '../terminal/print';
import { table } from '../terminal/table';
import { type ConnectionOptions, connect, connected } from './connected-command';

type JsonOption = ConnectionOptions & { json?: true };

/** Other names of collections. */
export function addAliasCommands(program: Command, context: CommandContext): void {
  const aliases = program
    .command('aliases')
    .description('other names of collections, which can be moved at once: list, create, switch, delete');
  const done = async (options: JsonOption, action: AliasAction): Promise<void> => {
    const changed = await connect(context, options).client.changeAliases([action]);
    if (options.json) return printJson(context, changed);
    for (const one of changed) context.messages.write(`${one.alias}: ${one.collection}\n`);
  };
  connected(aliases.command('list').description('list the aliases'))
    .option('--json', 'print JSON')
    .action(async (options: JsonOption) => {
      const found = await connect(context, options).client.listAliases();
      if (options.json) return printJson(context, found);
      const rows = found.map((one: Alias) => [one.alias, one.collection, one.created_at, one.switched_at]);
      context.output.write(table(['alias', 'collection', 'created', 'switched'], rows, outputWidth(context)));
    });
  for (const [type, description] of MOVES)
    connected(aliases.command(type).description(description).argument('<alias>').argument('<collection>'))
      .option('--json', 'print JSON')
      .action(async (alias: string, collection: string, options: JsonOption) =>
        done(options, { [type]: { alias, collection } }),
      );
  connected(aliases.command('delete').description('delete an alias; the collection stays').argument('<alias>'))
    .option('--json', 'print JSON')
    .action(async (alias: string, options: JsonOption) => done(options, { delete: { alias } }));
}

const MOVES = [
  ['create', 'give a collection another name'],
  ['switch', 'move an alias to another collection, at once for all requests that begin later'],
] as const;
