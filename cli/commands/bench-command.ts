import { type Command, Option } from 'commander';
import { base64FromVector } from '../../clients/typescript/src/vectors';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import { collectionUrl } from '../connection/connection';
import { printJson } from '../terminal/print';
import { table } from '../terminal/table';
import {
  type ConnectionOptions,
  connect,
  connected,
  filtered,
  filterOf,
  type FilterOptions,
  positiveNumber,
  wholeNumber,
} from './connected-command';

interface BenchOptions extends ConnectionOptions, FilterOptions {
  seconds: number;
  connections: number;
  k: number;
  queries: number;
  recall: boolean;
  json?: true;
}

/** A service that refuses more of them is told of, not measured. */
const REFUSED_MAX = 10;

/** Searches of one's own collection: how many a second, how long one takes, and how much is found. */
export function addBenchCommand(program: Command, context: CommandContext): void {
  const command = connected(
    program
      .command('bench')
      .description('measure searches of a collection: rate, times and recall')
      .argument('<collection>'),
  )
    .option('--seconds <count>', 'how long', positiveNumber, 10)
    .option('--connections <count>', 'searches under way at once', wholeNumber(1, 256), 8)
    .option('--queries <count>', 'vectors to ask for, drawn from the collection', wholeNumber(1, 10_000), 1000)
    .option('-k, --k <count>', 'hits of a search', wholeNumber(1, 10_000), 10);
  filtered(command, 'search with it')
    .addOption(new Option('--no-recall', 'leave out the comparison with exact searches'))
    .option('--json', 'print JSON')
    .action(async (name: string, options: BenchOptions) => bench(context, name, options));
}

async function bench(context: CommandContext, name: string, options: BenchOptions): Promise<void> {
  const { k, seconds, connections } = options;
  const filter = filterOf(options);
  const connection = connect(context, options);
  const collection = connection.client.collection(name);
  const filters = filter === undefined ? {} : { filters: filter as never };
  const sample = await collection.sample({
    size: options.queries,
    seed: 1,
    include_vectors: true,
    metadata_fields: [],
  });
  if (sample.vectors === undefined || sample.size === 0)
    throw new CommandError(`"${name}" is empty: there is nothing to search for`, EXIT_CODES.failed);
  const { dimensions } = sample.vectors;
  const floats = sample.vectors.data as unknown as Float32Array;
  const bodies = Array.from({ length: sample.size }, (_, i) =>
    JSON.stringify({ vector: base64FromVector(floats.subarray(i * dimensions, (i + 1) * dimensions)), k, ...filters }),
  );
  const times: number[] = [];
  let next = 0;
  let refused = 0;
  const startedAt = performance.now();
  const end = startedAt + seconds * 1000;
  const lane = async (): Promise<void> => {
    while (performance.now() < end) {
      const from = performance.now();
      const isAnswered = await connection
        .call('POST', collectionUrl(name, 'search'), { body: bodies[next++ % bodies.length], retries: 0 })
        .then(
          () => true,
          (error: Error & { code?: number }) => {
            if (error.code !== 429 || ++refused > REFUSED_MAX)
              throw error.code === 429
                ? new CommandError(
                    `the service refuses so many requests of this key: ${error.message}`,
                    EXIT_CODES.failed,
                    { cause: error },
                  )
                : error;
            return false;
          },
        );
      if (isAnswered) times.push(performance.now() - from);
    }
  };
  await Promise.all(Array.from({ length: connections }, lane));
  const elapsed = (performance.now() - startedAt) / 1000;
  const recall = options.recall ? await collection.recallCheck({ k: Math.min(k, 100), ...filters }) : null;
  times.sort((a, b) => a - b);
  const percentile = (share: number): number =>
    Number((times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN).toFixed(2));
  const figures = {
    collection: name,
    connections,
    k,
    searches: times.length,
    per_second: Math.round(times.length / elapsed),
    p50_ms: percentile(0.5),
    p95_ms: percentile(0.95),
    p99_ms: percentile(0.99),
    recall: recall?.recall ?? null,
  };
  if (options.json) return printJson(context, figures);
  context.output.write(
    table(
      ['searches', 'per second', 'p50 ms', 'p95 ms', 'p99 ms', `recall@${Math.min(k, 100)}`],
      [[figures.searches, figures.per_second, figures.p50_ms, figures.p95_ms, figures.p99_ms, figures.recall]],
    ),
  );
  context.messages.write(
    `${connections} at once, from this machine, for ${seconds} s; this command takes its share of the processors\n`,
  );
}
