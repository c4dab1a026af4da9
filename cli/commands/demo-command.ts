import type { Command } from 'commander';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import { type ConnectionOptions, connect, connected } from './connected-command';

interface LoadedDemo {
  collection: string;
  count: number;
  /** False: it was there already. */
  loaded: boolean;
  dim: number;
  embedding_model: string;
}

/** Embedding some hundred texts on a slow machine. */
const TIMEOUT_SECONDS = 300;

export function addDemoCommand(program: Command, context: CommandContext): void {
  const command = connected(
    program
      .command('demo')
      .description('have a running service load its demo')
      .argument('[address]', 'address of the service, as --url'),
  );
  command.setOptionValue('timeout', TIMEOUT_SECONDS);
  command.action(async (address: string | undefined, options: ConnectionOptions) =>
    loadDemo(context, address, options),
  );
}

async function loadDemo(
  context: CommandContext,
  address: string | undefined,
  options: ConnectionOptions,
): Promise<void> {
  if (address !== undefined && options.url !== undefined)
    throw new CommandError('say the address once: as [address], or with --url', EXIT_CODES.usage);
  // A service is started with API_KEY and PORT: who has those set means that one, unless another is named.
  const { API_KEY: key, PORT: port, ...others } = context.environment;
  const url = address ?? options.url;
  const isNamed =
    url !== undefined || options.profile !== undefined || Boolean(others.QUIVER_URL) || Boolean(others.QUIVER_PROFILE);
  const environment = {
    ...others,
    QUIVER_API_KEY: others.QUIVER_API_KEY || (options.profile === undefined ? key : undefined),
  };
  const connection = connect(
    { ...context, environment },
    { ...options, url: url ?? (port && !isNamed ? `http://localhost:${port}` : undefined) },
  );
  const {
    loaded,
    count,
    collection,
    embedding_model: model,
    dim,
  } = await connection.call<LoadedDemo>('POST', '/v1/demo');
  context.output.write(
    `${loaded ? 'Stored' : 'There are already'} ${count} texts in the collection "${collection}" (${model}, ${dim} dimensions).\nLook at them: ${connection.target.url}/ui\n`,
  );
}
