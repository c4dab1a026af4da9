import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import { migrate } from '../migrate/migration';
import { PEERS, type PeerName, openPeer, peerAddress } from '../migrate/open-peer';
import { METRICS_HERE, type MetricHere } from '../migrate/peer-source';
import type { Chosen } from '../migrate/plan';
import { newCollectionBody, withNewCollectionOptions } from './collection-commands';
import { type ConnectionOptions, connect, connected, names, positiveNumber, wholeNumber } from './connected-command';

interface MigrateOptions extends ConnectionOptions {
  from: PeerName;
  collection?: string[];
  rename?: Chosen<string>[];
  vector?: Chosen<string>[];
  text?: Chosen<string>[];
  metric?: Chosen<string>[];
  peerKey?: string;
  peerUser?: string;
  peerPassword?: string;
  database?: string;
  tenant?: string;
  where?: string;
  dryRun?: true;
  intoExisting?: true;
  restart?: true;
  report: string | false;
  rejects: string;
  lanes: number;
  batch: number;
  pageSize?: number;
  retryFor: number;
  language?: string;
  quantization?: string;
  metadataOn?: string;
  vectorsOn?: string;
  shards?: number;
  replicas?: number;
  ttlSeconds?: number;
  quiet?: true;
  json?: true;
}

/** As the service bounds a bulk write, and half of the bytes that it takes. */
const BATCH_ITEMS_MAX = 1000;
const BATCH_CHARACTERS_MAX = 16_000_000;
const LANES_MAX = 64;
/** Two keep the service busy while a page is read; more gain little, because pages come one after the other. */
const LANES = 2;
const BATCH_ITEMS = 500;
const RETRY_SECONDS = 300;
const PAGE_ITEMS_MAX = 10_000;

export function addMigrateCommand(program: Command, context: CommandContext): void {
  const command = connected(
    program
      .command('migrate')
      .description('move collections here from another product that runs')
      .argument('<address>', 'of the peer, such as http://localhost:6333 or postgres://localhost/db'),
  )
    .addOption(new Option('--from <peer>', 'what runs at the address').choices(PEERS).makeOptionMandatory())
    .option('--collection <names>', 'move these only, separated by commas; may be repeated', names)
    .option(
      '--rename <old=new>',
      'name of a collection here; OLD:VECTOR=NEW where several vectors of it are moved; may be repeated',
      pair,
    )
    .option(
      '--vector <[collection=]name>',
      'which vector to take where there are several, "*" for each; may be repeated',
      chosen,
    )
    .option(
      '--text <[collection=]field>',
      'field of the metadata that becomes the text of items; may be repeated',
      chosen,
    )
    .option(
      '--metric <[collection=]metric>',
      'cosine, l2 or ip, where the peer’s has no counterpart; may be repeated',
      chosen,
    )
    .option('--peer-key <key>', 'API key or token of the peer; better in QUIVER_PEER_KEY')
    .option('--peer-user <name>', 'user of the peer; also QUIVER_PEER_USER, or in the address')
    .option('--peer-password <password>', 'its password; better in QUIVER_PEER_PASSWORD')
    .option('--database <name>', 'database of Chroma, Milvus or PostgreSQL')
    .option('--tenant <name>', 'tenant of Chroma; of Weaviate the only one to move')
    .option('--where <sql>', 'pgvector: only rows for which this holds; the table is called t');
  // --metric is of its own here, and a description comes from the peer.
  const isOwn = (option: Option): boolean => option.long === '--metric' || option.long === '--description';
  for (const option of withNewCollectionOptions(program.createCommand('new')).options.filter((each) => !isOwn(each)))
    command.addOption(option);
  command
    .option('--dry-run', 'print the plan and what has no counterpart; write nothing')
    .option('--into-existing', 'add to collections that hold vectors already')
    .option('--restart', 'forget how far an interrupted run came')
    .option('--report <file>', 'where the report goes as JSON', 'migrate-report.json')
    .option('--no-report', 'print the report only')
    .option('--rejects <folder>', 'where items that are not stored are listed', '.')
    .option('--lanes <count>', 'bulk writes under way at once', wholeNumber(1, LANES_MAX), LANES)
    .option('--batch <items>', 'items of a bulk write at most', wholeNumber(1, BATCH_ITEMS_MAX), BATCH_ITEMS)
    .option(
      '--page-size <items>',
      'items asked of the peer at once; otherwise by the dimension',
      wholeNumber(1, PAGE_ITEMS_MAX),
    )
    .option(
      '--retry-for <seconds>',
      'how long to try when the peer or the service does not answer',
      positiveNumber,
      RETRY_SECONDS,
    )
    .option('--quiet', 'show no progress')
    .option('--json', 'print the report as JSON')
    .action(async (address: string, options: MigrateOptions) => run(context, address, options));
}

async function run(context: CommandContext, text: string, options: MigrateOptions): Promise<void> {
  const { environment, signal } = context;
  const { url, ...inAddress } = peerAddress(text, options.from);
  const patienceMs = options.retryFor * 1000;
  const scope = { database: options.database ?? null, tenant: options.tenant ?? null, where: options.where ?? null };
  const source = openPeer({
    peer: options.from,
    url,
    key: options.peerKey ?? (environment.QUIVER_PEER_KEY || null),
    user: options.peerUser ?? inAddress.user ?? (environment.QUIVER_PEER_USER || null),
    password: options.peerPassword ?? inAddress.password ?? (environment.QUIVER_PEER_PASSWORD || null),
    ...scope,
    patienceMs,
    signal,
    onWait: (reason, waitMs) => context.messages.write(`${reason}; trying again in ${Math.ceil(waitMs / 1000)} s\n`),
  });
  try {
    await migrate({
      context,
      connection: connect(context, options),
      source,
      peer: options.from,
      address: url.href.replace(/\?.*$/, '').replace(/\/$/, ''),
      scope,
      choices: {
        collections: options.collection ?? [],
        names: new Map((options.rename ?? []).map(({ collection, value }) => [collection ?? '', value])),
        vectors: options.vector ?? [],
        texts: options.text ?? [],
        metrics: (options.metric ?? []).map(metricChosen),
      },
      newCollection: newOptions(options),
      lanes: {
        lanes: options.lanes,
        batchItemsMax: options.batch,
        batchCharactersMax: BATCH_CHARACTERS_MAX,
        requestTimeoutMs: options.timeout * 1000,
        patienceMs,
        signal,
      },
      pageItems: options.pageSize ?? null,
      reportPath: options.report === false ? null : options.report,
      rejectFolder: options.rejects,
      isPlanOnly: options.dryRun === true,
      isIntoExisting: options.intoExisting === true,
      isRestart: options.restart === true,
      isQuiet: options.quiet === true,
      isJson: options.json === true,
    });
  } finally {
    await source.close();
  }
}

/** What the new collections have alike. */
function newOptions({
  language,
  quantization,
  metadataOn,
  vectorsOn,
  shards,
  replicas,
  ttlSeconds,
}: MigrateOptions): Record<string, unknown> {
  const {
    name: _,
    dim: __,
    ...rest
  } = newCollectionBody('', 0, { language, quantization, metadataOn, vectorsOn, shards, replicas, ttlSeconds });
  return Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
}

function metricChosen({ collection, value }: Chosen<string>): Chosen<MetricHere> {
  const metric = METRICS_HERE.find((one) => one === value);
  if (metric === undefined)
    throw new CommandError(`"${value}" is not a metric: it must be ${METRICS_HERE.join(', ')}`, EXIT_CODES.usage);
  return { collection, value: metric };
}

/** "collection=value" or "value", more of them when given again. */
function chosen(text: string, before: Chosen<string>[] = []): Chosen<string>[] {
  const at = text.indexOf('=');
  const value = text.slice(at + 1);
  if (value === '') throw new InvalidArgumentError('It must be NAME, or COLLECTION=NAME.');
  return [...before, { collection: at <= 0 ? null : text.slice(0, at), value }];
}

function pair(text: string, before: Chosen<string>[] = []): Chosen<string>[] {
  const all = chosen(text, before);
  if (all.at(-1)?.collection === null) throw new InvalidArgumentError('It must be OLD=NEW.');
  return all;
}
