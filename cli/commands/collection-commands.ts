import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import { type AnalyserName, isAnalyserName } from '../../shared/base/text/language';
import { collectionUrl, urlPath } from '../connection/connection';
import { count, printJson } from '../terminal/print';
import { table } from '../terminal/table';
import {
  type ConnectionOptions,
  connect,
  connected,
  filtered,
  filterOf,
  type FilterOptions,
  names,
  wholeNumber,
} from './connected-command';
import { untilOver } from './until-over';

interface Collection {
  name: string;
  dim: number;
  distance_metric: string;
  /** Below 0: unknown, because shards do not answer. */
  vector_count: number;
  /** Absent in the answers of earlier versions. */
  unavailable_shards?: { shard: number; reason: string }[];
  shards: number;
  replicas: number;
  quantization: string;
  embedding_model: string | null;
  created_at: string;
}

/** What a new collection may be given besides its name; `import --create` has the same. */
export interface NewCollectionOptions {
  metric?: string;
  description?: string;
  language?: string;
  keywordFields?: GivenField[];
  synonyms?: unknown[];
  stopWords?: object;
  /** As commander has it: true where it is not said. */
  keywordPositions?: boolean;
  quantization?: string;
  metadataOn?: string;
  vectorsOn?: string;
  shards?: number;
  replicas?: number;
  ttlSeconds?: number;
  /** As of `create` alone. */
  embedding?: object;
}

/** As the service bounds them. */
const DIM_MAX = 16_384;
const SHARDS_MAX = 256;
const REPLICAS_MAX = 5;
const TTL_SECONDS_MAX = 3_155_760_000;

export function withNewCollectionOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--metric <metric>', 'how vectors are compared (default: cosine)').choices(['cosine', 'l2', 'ip']),
    )
    .option('--description <text>', 'description of the new collection')
    .option('--language <code>', 'language of its texts, such as "en": words are found in all their forms')
    .option(
      '--keyword-fields <paths>',
      'what keyword search looks in, how much it counts, and by which language: "title:3, body:de, text"',
      keywordFields,
    )
    .option('--synonyms <file>', SYNONYMS_HELP, synonymsOf)
    .option('--stop-words <file>', STOP_WORDS_HELP, stopWordsOf)
    .option('--no-keyword-positions', 'keep no positions of words: phrases read texts')
    .addOption(
      new Option('--quantization <kind>', 'how vectors are held in memory (default: int8)').choices([
        'int8',
        'int4',
        'binary',
      ]),
    )
    .addOption(
      new Option('--metadata-on <place>', 'where ids and metadata are (default: memory)').choices(['memory', 'disk']),
    )
    .addOption(
      new Option('--vectors-on <place>', 'where the index of the vectors is (default: memory)').choices([
        'memory',
        'disk',
      ]),
    )
    .option('--shards <count>', 'its shards', wholeNumber(1, SHARDS_MAX))
    .option('--replicas <count>', 'copies of each shard', wholeNumber(1, REPLICAS_MAX))
    .option(
      '--ttl-seconds <seconds>',
      'an item expires so long after its last write, unless it has a time of its own',
      wholeNumber(1, TTL_SECONDS_MAX),
    );
}

const SYNONYMS_HELP =
  'JSON with what words of queries mean besides: [["car", "automobile"], {"from": "pump", "to": ["compressor"]}]';

const STOP_WORDS_HELP = 'JSON with stop words besides those of the language: {"add": ["item"], "remove": ["the"]}';

const EMBEDDING_HELP =
  'the model of its texts: "local:builtin", "openai:text-embedding-3-small", or JSON with more: ' +
  '{"model": "local:…", "query_prefix": "query: ", "truncate_dim": 256}';

function embeddingOf(given: string): object {
  const embedding = /^\s*\{/.test(given) ? jsonOf(given) : { model: given };
  if (typeof embedding === 'object' && embedding !== null && !Array.isArray(embedding)) return embedding;
  throw new InvalidArgumentError('It must be a model or an object with model.');
}

function synonymsOf(given: string): unknown[] {
  const rules = jsonOf(given);
  if (Array.isArray(rules)) return rules;
  throw new InvalidArgumentError('It must be a list of rules.');
}

function stopWordsOf(given: string): object {
  const words = jsonOf(given);
  if (typeof words === 'object' && words !== null && !Array.isArray(words)) return words;
  throw new InvalidArgumentError('It must be an object with add or remove.');
}

/** Of a file, or as it is. */
function jsonOf(given: string): unknown {
  try {
    return JSON.parse(/^\s*[[{]/.test(given) ? given : readFileSync(given, 'utf8'));
  } catch (error) {
    throw new InvalidArgumentError(`It must be a file with JSON: ${(error as Error).message}`);
  }
}

interface GivenField {
  path: string;
  weight?: number;
  analyser?: AnalyserName;
}

/** Paths with weights and analysers behind colons, separated by commas. */
function keywordFields(text: string): GivenField[] {
  return names(text).map((part) => {
    const behind = /^(.+):([^:]+)$/.exec(part);
    const isAnalyser = behind !== null && (isAnalyserName(behind[2]) || /:\d+$/.test(behind[1]));
    const analyser = isAnalyser ? { analyser: behind[2] as AnalyserName } : {};
    const weighed = isAnalyser ? behind[1] : part;
    const [, path = weighed, weight] = /^(.+):(\d+)$/.exec(weighed) ?? [];
    return { path, ...(weight !== undefined && { weight: Number(weight) }), ...analyser };
  });
}

/** The body of POST /v1/collections. */
export function newCollectionBody(
  name: string,
  dim: number | undefined,
  {
    metric,
    description,
    language,
    keywordFields: fields,
    keywordPositions: positions,
    synonyms,
    stopWords,
    quantization,
    metadataOn,
    vectorsOn,
    shards,
    replicas,
    ttlSeconds,
    embedding,
  }: NewCollectionOptions,
): Record<string, unknown> {
  return {
    name,
    dim,
    distance_metric: metric,
    description,
    language,
    keyword_fields: fields,
    synonyms,
    stop_words: stopWords,
    keyword_positions: positions === false ? false : undefined,
    quantization,
    metadata: metadataOn,
    vectors: vectorsOn,
    shards,
    replicas,
    ttl_seconds: ttlSeconds,
    embedding,
  };
}

export function addCollectionCommands(program: Command, context: CommandContext): void {
  connected(
    program.command('collections').description('list the collections, or show one').argument('[name]', 'a collection'),
  )
    .option('--json', 'print JSON')
    .action(async (name: string | undefined, options: ConnectionOptions & { json?: true }) => {
      const connection = connect(context, options);
      if (name !== undefined) {
        const collection = await connection.call<Record<string, unknown>>('GET', collectionUrl(name));
        if (options.json) return printJson(context, collection);
        context.output.write(
          table(
            ['field', 'value'],
            Object.entries(collection).map(([field, value]) => [
              field,
              typeof value === 'string' || typeof value === 'number'
                ? value
                : value === null
                  ? null
                  : JSON.stringify(value),
            ]),
          ),
        );
        return;
      }
      const { collections } = await connection.call<{ collections: Collection[] }>('GET', urlPath('v1', 'collections'));
      if (options.json) return printJson(context, collections);
      const rows = collections.map((one) => [
        one.name,
        one.vector_count < 0 ? 'unknown' : one.vector_count,
        one.dim,
        one.distance_metric,
        one.quantization,
        one.shards,
        one.replicas,
        one.embedding_model,
        one.created_at,
      ]);
      context.output.write(
        table(['name', 'vectors', 'dim', 'metric', 'quantization', 'shards', 'replicas', 'model', 'created'], rows),
      );
      for (const { name: of, unavailable_shards: missing = [] } of collections) {
        for (const { shard, reason } of missing)
          context.messages.write(`${of}: shard ${shard} does not answer: ${reason}\n`);
      }
    });

  const create = program
    .command('create')
    .description('make a collection')
    .argument('<name>', 'letters, digits, "-" and "_"');
  withNewCollectionOptions(
    connected(create).option(
      '--dim <count>',
      'dimensions of its vectors; with --embedding those of the model',
      wholeNumber(1, DIM_MAX),
    ),
  )
    .option('--embedding <model>', EMBEDDING_HELP, embeddingOf)
    .option('--if-missing', 'succeed when it is there already')
    .option('--json', 'print JSON')
    .action(
      async (
        name: string,
        options: ConnectionOptions & NewCollectionOptions & { dim?: number; ifMissing?: true; json?: true },
      ) => {
        if (options.dim === undefined && options.embedding === undefined)
          throw new CommandError('give --dim or --embedding', EXIT_CODES.usage);
        const connection = connect(context, options);
        const made = await connection
          .call('POST', urlPath('v1', 'collections'), { body: newCollectionBody(name, options.dim, options) })
          .catch((error: Error & { code?: number }) => {
            if (options.ifMissing && error.code === 409) return null;
            throw error;
          });
        if (options.json) return printJson(context, made ?? (await connection.call('GET', collectionUrl(name))));
        context.messages.write(made === null ? `"${name}" is there already\n` : `made "${name}"\n`);
      },
    );

  connected(
    program
      .command('update')
      .description('change the description, the time to live, the synonyms or the stop words of a collection')
      .argument('<collection>'),
  )
    .option('--description <text>', '"none" clears it')
    .option('--ttl-seconds <seconds>', 'of the writes that come; "none": items are kept', secondsOrNone)
    .option('--synonyms <file>', `${SYNONYMS_HELP}; "none" takes them away`, (given) =>
      given === NONE ? NONE : synonymsOf(given),
    )
    .option('--stop-words <file>', `${STOP_WORDS_HELP}; "none" takes them away`, (given) =>
      given === NONE ? NONE : stopWordsOf(given),
    )
    .option('--json', 'print JSON')
    .action(async (name: string, options: ConnectionOptions & ChangeOptions) => change(context, name, options));

  connected(
    program
      .command('reindex')
      .description('change what keyword search of a collection looks in, and wait until its new index is searched')
      .argument('<collection>')
      .argument('<fields>', 'as in "title:3, body:de, text"; "all": the text and all strings of the metadata'),
  )
    .option('--no-wait', 'only begin the job')
    .option('--json', 'print JSON')
    .action(async (name: string, fields: string, options: ConnectionOptions & { wait: boolean; json?: true }) =>
      reindex(context, name, { ...options, fields }),
    );

  connected(
    program
      .command('purge')
      .description(
        'rewrite the files of a collection, so that nothing deleted or expired is in them, and wait until that is done',
      )
      .argument('<collection>'),
  )
    .option('--state', 'only show how far the last one is')
    .option('--json', 'print JSON')
    .action(async (name: string, options: ConnectionOptions & { state?: true; json?: true }) =>
      purge(context, name, options),
    );

  const deletion = connected(
    program
      .command('delete')
      .description('delete a collection, some of its items, or those that a filter finds')
      .argument('<collection>')
      .argument('[ids...]', 'external_ids of items'),
  );
  filtered(deletion, 'delete the items that it finds', '{"year": {"$lt": 1990}}')
    .option('--yes', 'do not ask whether the whole collection may go')
    .option('--force', 'its aliases go with it')
    .option('--json', 'print JSON')
    .action(async (name: string, ids: string[], options: DeleteOptions) => deleteThings(context, name, ids, options));
}

type DeleteOptions = ConnectionOptions & FilterOptions & { yes?: true; force?: true; json?: true };

interface ChangeOptions {
  description?: string;
  ttlSeconds?: number | typeof NONE;
  synonyms?: unknown[] | typeof NONE;
  stopWords?: object | typeof NONE;
  json?: true;
}

/** What clears a field; commander takes null for an empty text. */
const NONE = 'none';

function secondsOrNone(given: string): number | typeof NONE {
  return given === NONE ? NONE : wholeNumber(1, TTL_SECONDS_MAX)(given);
}

function orNull<Value>(value: Value): Value | null {
  return value === NONE ? null : value;
}

async function change(
  context: CommandContext,
  name: string,
  { description, ttlSeconds, synonyms, stopWords, json, ...options }: ConnectionOptions & ChangeOptions,
): Promise<void> {
  const body = {
    ...(description !== undefined && { description: orNull(description) }),
    ...(ttlSeconds !== undefined && { ttl_seconds: orNull(ttlSeconds) }),
    ...(synonyms !== undefined && { synonyms: orNull(synonyms) }),
    ...(stopWords !== undefined && { stop_words: orNull(stopWords) }),
  };
  if (Object.keys(body).length === 0)
    throw new CommandError(
      'say what to change: --description, --ttl-seconds, --synonyms or --stop-words',
      EXIT_CODES.usage,
    );
  const changed = await connect(context, options).call('PATCH', collectionUrl(name), { body });
  if (json) printJson(context, changed);
  else context.messages.write(`changed "${name}"\n`);
}

async function reindex(
  context: CommandContext,
  name: string,
  { fields, ...options }: ConnectionOptions & { fields: string; wait: boolean; json?: true },
): Promise<void> {
  const { client } = connect(context, options);
  const collection = client.collection(name);
  const begun = await collection.update({ keyword_fields: fields.trim() === 'all' ? null : keywordFields(fields) });
  const { job_id: id } = begun;
  if (options.wait && id !== undefined) {
    const { state, error } = await client.jobs.wait(id, { signal: context.signal });
    if (state !== 'done')
      throw new CommandError(`job ${id}: ${state}${error === null ? '' : `, ${error}`}`, EXIT_CODES.failed);
  }
  if (options.json) return printJson(context, options.wait ? await collection.info() : begun);
  const done =
    id === undefined ? 'has these fields' : options.wait ? 'has other fields' : `gets other fields: job ${id}`;
  context.messages.write(`"${name}" ${done}\n`);
}

/** How far a purge is, as `/v1/collections/{name}/purge` answers it. */
interface Purge {
  state: 'none' | 'running' | 'done' | 'failed';
  bytes_reclaimed: number;
  shards: {
    shard: number;
    replicas: { node: string; state: string; step: string; unshipped_writes?: number; error: string }[];
  }[];
}

async function purge(
  context: CommandContext,
  name: string,
  options: ConnectionOptions & { state?: true; json?: true },
): Promise<void> {
  const connection = connect(context, options);
  const look = (): Promise<Purge> => connection.call<Purge>('GET', collectionUrl(name, 'purge'));
  const answer = options.state
    ? await look()
    : await untilOver(context, await connection.call<Purge>('POST', collectionUrl(name, 'purge')), {
        isOver: ({ state }) => state !== 'running',
        look,
      });
  if (options.json) printJson(context, answer);
  else if (options.state) {
    const rows = answer.shards.flatMap(({ shard, replicas }) =>
      replicas.map(({ node, state, step, unshipped_writes = 0, error }) => [
        shard,
        node,
        state,
        step,
        unshipped_writes,
        error,
      ]),
    );
    context.output.write(table(['shard', 'node', 'state', 'step', 'unshipped', 'error'], rows));
  } else if (answer.state === 'done')
    context.messages.write(`purged "${name}": ${count(answer.bytes_reclaimed)} bytes less\n`);
  if (options.state || answer.state === 'done') return;
  const trouble = answer.shards.flatMap(({ shard, replicas }) =>
    replicas
      .filter(({ state }) => state !== 'done')
      .map(({ node, error }) => `shard ${shard}${node === '' ? '' : ` on ${node}`}: ${error || 'it started anew'}`),
  );
  throw new CommandError(`not all of "${name}" is purged; purge it again (${trouble.join('; ')})`, EXIT_CODES.failed);
}

async function deleteThings(
  context: CommandContext,
  name: string,
  ids: string[],
  options: DeleteOptions,
): Promise<void> {
  const connection = connect(context, options);
  const filter = filterOf(options);
  if (ids.length > 0 && filter !== undefined)
    throw new CommandError('name items or give a filter, not both', EXIT_CODES.usage);
  if (ids.length > 0) {
    const answer = await connection.call<{ deleted_count: number; not_found: string[] }>(
      'POST',
      collectionUrl(name, 'delete_batch'),
      { body: { external_ids: ids } },
    );
    if (options.json) printJson(context, answer);
    else context.messages.write(`deleted ${count(answer.deleted_count)} of ${count(ids.length)}\n`);
    if (answer.not_found.length > 0)
      throw new CommandError(`not there: ${answer.not_found.join(', ')}`, EXIT_CODES.notFound);
    return;
  }
  if (filter !== undefined) {
    const answer = await connection.call<{ deleted_count: number }>('POST', collectionUrl(name, 'delete_by_filter'), {
      body: { filters: filter },
    });
    if (options.json) printJson(context, answer);
    else context.messages.write(`deleted ${count(answer.deleted_count)}\n`);
    return;
  }
  if (!options.yes) {
    const { vector_count } = await connection.call<Collection>('GET', collectionUrl(name));
    const content = vector_count < 0 ? 'all that it holds' : `its ${count(vector_count)} vectors`;
    throw new CommandError(`"${name}" with ${content} would be deleted for good; say --yes to do it`, EXIT_CODES.usage);
  }
  const answer = await connection.call('DELETE', `${collectionUrl(name)}${options.force ? '?force=true' : ''}`);
  if (options.json) printJson(context, answer);
  else context.messages.write(`deleted "${name}"\n`);
}
