import { basename, resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Collection } from '../../clients/typescript/src/generated/api-types';
import { NotFoundError } from '../../clients/typescript/src/errors';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import type { Connection } from '../connection/connection';
import { findFiles, FORMATS, type Format, REJECTS_ENDING, type SourceOptions } from '../formats/open-source';
import { describeMapping, mapColumns, type MappingOptions, wantedColumns } from '../import/column-mapping';
import { dimensionOf } from '../import/dimension';
import { ImportRun, type ImportState } from '../import/import-run';
import { type ListedChunk, SourceList } from '../import/source-list';
import { count, printJson } from '../terminal/print';
import { duration, showProgress } from '../terminal/progress';
import { ResumeFile, resumePath } from '../writing/resume-file';
import { type NewCollectionOptions, newCollectionBody, withNewCollectionOptions } from './collection-commands';
import { type ConnectionOptions, connect, connected, names, positiveNumber, wholeNumber } from './connected-command';

interface ImportOptions extends ConnectionOptions, NewCollectionOptions, Omit<MappingOptions, never> {
  into: string;
  create?: true;
  dim?: number;
  format?: Format;
  delimiter?: string;
  columns?: string[];
  split: 'chunks' | 'lines' | 'file';
  chunkSize: number;
  chunkOverlap: number;
  idPrefix: string;
  strings?: true;
  lanes: number;
  batchRows?: number;
  batchBytes: number;
  retryFor: number;
  rejects?: string;
  maxRejects: number;
  checkpoint?: string | false;
  restart?: true;
  quiet?: true;
  json?: true;
}

/** As the service bounds them, unless it is set otherwise. */
const BATCH_ROWS_MAX = 1000;
/** Embedding takes milliseconds a text: smaller batches show that something moves, and are soon sent again. */
const TEXT_BATCH_ROWS = 100;
const BATCH_BYTES = 4 << 20;
const BATCH_BYTES_MAX = 64 << 20;
const LANES_MAX = 64;
/** A bulk write of texts on a slow machine. */
const REQUEST_TIMEOUT_SECONDS = 300;

export function addImportCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('import')
    .description('store the rows of files, folders or standard input ("-") in a collection; killed, the same command goes on')
    .argument('<sources...>', `${FORMATS.join(', ')} files, also .gz and .zst, or folders of them`)
    .requiredOption('--into <collection>', 'where to store them')
    .option('--create', 'make the collection if it is not there')
    .option('--dim <count>', 'dimensions of a new collection; otherwise those of the first vector, or of the model', wholeNumber(1, 16_384));
  withNewCollectionOptions(connected(command))
    .addOption(new Option('--format <format>', 'what the sources are; otherwise their names say it').choices(FORMATS))
    .option('--id <column>', 'column of ids; otherwise one named id, external_id, …, or the number of the row')
    .option('--no-id', 'make ids of the numbers of rows')
    .option('--id-prefix <text>', 'put before each id', '')
    .option('--vector <columns>', 'column of vectors, or columns with a number each: "a,b,c" or "dim_*"; otherwise one named vector, embedding, …', names)
    .option('--no-vector', 'have the service make vectors of the texts')
    .option('--text <column>', 'column of texts; otherwise one named text, content, …')
    .option('--no-text', 'store no text')
    .option('--metadata <columns>', 'columns that become metadata; otherwise all others', names)
    .option('--no-metadata', 'store no metadata')
    .option('--strings', 'keep values of CSV as text; otherwise numbers and true/false are made of them')
    .option('--columns <names>', 'names of the columns of a CSV file without a first line of them', names)
    .option('--delimiter <character>', 'between the values of a CSV file', oneCharacter)
    .addOption(new Option('--split <how>', 'how plain texts become items').choices(['chunks', 'lines', 'file']).default('chunks'))
    .option('--chunk-size <characters>', 'longest chunk of a plain text', wholeNumber(2, 100_000), 500)
    .option('--chunk-overlap <characters>', 'shared by neighbouring chunks', wholeNumber(0, 50_000), 50)
    .option('--lanes <count>', 'requests under way at once', wholeNumber(1, LANES_MAX), 4)
    .option('--batch-rows <count>', 'rows of a request (default: 1000, or 100 where the service makes the vectors)', wholeNumber(1, 100_000))
    .option('--batch-bytes <count>', 'bytes of a request', wholeNumber(1000, BATCH_BYTES_MAX), BATCH_BYTES)
    .option('--retry-for <seconds>', 'how long to try when the service does not answer, or is busy', positiveNumber, 600)
    .option('--rejects <file>', 'where rows that can’t be stored are listed (default: <source>.rejects.jsonl here)')
    .option('--max-rejects <count>', 'give up after so many of them', wholeNumber(0, Number.MAX_SAFE_INTEGER), 1000)
    .option('--checkpoint <file>', 'where to keep how far it is; also makes an import of standard input resumable')
    .option('--no-checkpoint', 'keep nothing: always begin at the beginning')
    .option('--restart', 'begin anew, whatever an earlier run has left')
    .option('--quiet', 'show no progress')
    .option('--json', 'print the outcome as JSON')
    .action(async (sources: string[], options: ImportOptions) => runImport(context, sources, options));
  command.setOptionValue('timeout', REQUEST_TIMEOUT_SECONDS);
}

function oneCharacter(text: string): string {
  const character = text === '\\t' ? '\t' : text;
  if ([...character].length !== 1 || /["\r\n]/.test(character)) throw new InvalidArgumentError('It must be one character, and none that ends lines or stands around values.');
  return character;
}

async function runImport(context: CommandContext, sources: string[], options: ImportOptions): Promise<void> {
  const startedAt = performance.now();
  const list = listOf(context, sources, options);
  const rejectPath = options.rejects ?? `${sources[0] === '-' ? 'stdin' : basename(resolve(sources[0]))}${REJECTS_ENDING}`;
  const path = checkpointPathOf(context, sources, options);
  list.refuseAsOutput('--rejects', rejectPath);
  if (path !== null) list.refuseAsOutput('--checkpoint', path);
  const connection = connect(context, options);
  const existing = await findCollection(connection, options);
  const restart = options.restart === true || options.checkpoint === false;
  if (restart && path !== null) new ResumeFile(path, {}).remove();
  const resumeOf = (collection: Collection): ResumeFile<ImportState> | null => (path === null ? null : new ResumeFile(path, identityOf(list, options, collection)));
  const before = existing === null ? null : (resumeOf(existing)?.read() ?? null);
  const first = before === null ? await firstChunk(list) : null;
  if (before === null && first === null) throw new CommandError('there are no rows to import');
  const mapping = before?.mapping ?? mapColumns(columnsOf(first!), first!.source.known, options);
  const collection = existing ?? (await createCollection(connection, options, await dimensionOf(connection, options.dim, { mapping, first: first! })));
  if (!options.quiet && first !== null) context.messages.write(`${describeMapping(mapping, columnsOf(first))}\n`);
  if (!options.quiet && before !== null) context.messages.write(`going on after ${count(before.rows)} rows\n`);
  const state: ImportState = before ?? { mark: { file: 0, inner: null }, mapping, rows: 0, rejected: 0, rejectBytes: 0 };
  const progress = showProgress(context, { label: options.into, unit: 'rows', isQuiet: options.quiet === true, rowsBefore: state.rows });
  const resume = resumeOf(collection);
  const settings = {
    collection: options.into,
    dim: collection.dim,
    lanes: options.lanes,
    batchItemsMax: options.batchRows ?? (mapping.vector === null ? TEXT_BATCH_ROWS : BATCH_ROWS_MAX),
    batchCharactersMax: options.batchBytes,
    requestTimeoutMs: options.timeout * 1000,
    patienceMs: options.retryFor * 1000,
    rejectsMax: options.maxRejects,
    idPrefix: options.idPrefix,
    guessTypes: options.strings !== true,
  };
  const rowsBefore = state.rows;
  const run = new ImportRun(context, connection, state, settings, { resume, rejectPath, progress });
  try {
    await run.run(chunksFrom(list, first, state), context.signal);
  } catch (error) {
    progress.stop();
    if (resume !== null && !(error instanceof CommandError && error.exitCode === EXIT_CODES.usage))
      context.messages.write(`stopped after ${count(state.rows)} rows; the same command goes on from there\n`);
    throw error;
  }
  progress.stop();
  resume?.remove();
  const seconds = (performance.now() - startedAt) / 1000;
  const stored = state.rows - state.rejected;
  if (options.json)
    printJson(context, { collection: options.into, rows: state.rows, stored, rejected: state.rejected, rejects: state.rejected > 0 ? rejectPath : null, seconds: Number(seconds.toFixed(3)) });
  else if (!options.quiet)
    context.messages.write(`stored ${count(stored)} rows in "${options.into}" in ${duration(seconds)} (${count(Math.round((state.rows - rowsBefore) / Math.max(seconds, 0.001)))}/s)\n`);
  if (state.rejected === 0) return;
  context.messages.write(`${count(state.rejected)} rows were not stored: ${rejectPath} says which and why\n`);
  context.exitWith(EXIT_CODES.rowsRejected);
}

function listOf(context: CommandContext, sources: string[], options: ImportOptions): SourceList {
  const sourceOptions: SourceOptions = {
    format: options.format ?? null,
    delimiter: options.delimiter ?? null,
    columns: options.columns ?? null,
    split: options.split === 'chunks' ? { by: 'chunks', size: options.chunkSize, overlap: options.chunkOverlap } : { by: options.split },
  };
  const isStream = sources.includes('-');
  if (isStream && sources.length > 1) throw new CommandError('"-" (standard input) stands alone', EXIT_CODES.usage);
  return new SourceList(isStream ? null : findFiles(sources, options.format ?? null), sourceOptions, context);
}

/** Null: it is to be made. */
async function findCollection(connection: Connection, { into, create }: ImportOptions): Promise<Collection | null> {
  return connection.client
    .collection(into)
    .info()
    .catch((error: Error) => {
      if (error instanceof NotFoundError && create) return null;
      throw error instanceof NotFoundError ? new CommandError(`${error.message}; --create makes it`, EXIT_CODES.notFound, { cause: error }) : error;
    });
}

async function createCollection(connection: Connection, options: ImportOptions, dim: number): Promise<Collection> {
  return connection.client.createCollection(newCollectionBody(options.into, dim, options) as never);
}

function checkpointPathOf(context: CommandContext, sources: string[], options: ImportOptions): string | null {
  if (options.checkpoint === false) return null;
  if (typeof options.checkpoint === 'string') return options.checkpoint;
  if (sources.includes('-')) return null;
  return resumePath(context.environment, [connect(context, options).target.url, options.into, sources.map((source) => resolve(source))]);
}

/** What a checkpoint belongs to. */
function identityOf(list: SourceList, options: ImportOptions, collection: Collection): Record<string, unknown> {
  const { format, delimiter, columns, split, chunkSize, chunkOverlap, id, idPrefix, vector, text, metadata, strings } = options;
  return {
    source: list.fingerprint(),
    collection: [collection.name, collection.created_at],
    options: JSON.stringify({ format, delimiter, columns, split, chunkSize, chunkOverlap, id, idPrefix, vector, text, metadata, strings }),
  };
}

async function firstChunk(list: SourceList): Promise<(ListedChunk & { rest: AsyncGenerator<ListedChunk> }) | null> {
  let wanted: ReadonlySet<string> | null = null;
  const rest = list.read({ file: 0, inner: null }, () => wanted);
  wanted = null;
  const { value, done } = await rest.next();
  return done ? null : { ...value, rest };
}

/** Names of the columns that were seen. */
function columnsOf({ source, chunk }: ListedChunk): string[] {
  return source.columns ?? [...new Set(chunk.records.flatMap(({ fields }) => Object.keys(fields)))];
}

async function* chunksFrom(list: SourceList, first: (ListedChunk & { rest: AsyncGenerator<ListedChunk> }) | null, state: ImportState): AsyncGenerator<ListedChunk> {
  if (first === null) {
    yield* list.read(state.mark, () => wantedColumns(state.mapping));
    return;
  }
  yield first;
  yield* first.rest;
}
