import { basename, resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Collection } from '../../clients/typescript/src/generated/api-types';
import { NotFoundError } from '../../clients/typescript/src/errors';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import type { Connection } from '../connection/connection';
import {
  findFiles,
  FORMATS,
  type FoundFiles,
  type Format,
  REJECTS_ENDING,
  type SourceOptions,
} from '../formats/open-source';
import { mapColumns, type MappingOptions } from '../import/column-mapping';
import { dimensionOf } from '../import/dimension';
import { vectorLengthOf } from '../import/row-values';
import { ImportRun, type ImportState } from '../import/import-run';
import { type Listed, type ListedChunk, SourceList } from '../import/source-list';
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
  decimal: '.' | ',';
  columns?: string[];
  split: 'chunks' | 'lines' | 'file';
  chunkSize: number;
  chunkOverlap: number;
  idPrefix: string;
  strings?: true;
  numbers?: string[];
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

/** Files that are told by name, of those that are not read. */
const LEFT_OUT_SHOWN = 10;
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
    .description(
      'store the rows of files, folders or standard input ("-") in a collection; killed, the same command goes on',
    )
    .argument('<sources...>', `${FORMATS.join(', ')} files, also .gz and .zst, or folders of them`)
    .requiredOption('--into <collection>', 'where to store them')
    .option('--create', 'make the collection if it is not there')
    .option(
      '--dim <count>',
      'dimensions of a new collection; otherwise those of the first vector, or of the model',
      wholeNumber(1, 16_384),
    );
  withNewCollectionOptions(connected(command))
    .addOption(new Option('--format <format>', 'what the sources are; otherwise their names say it').choices(FORMATS))
    .option('--id <column>', 'column of ids; otherwise one named id, external_id, …, or made of the row')
    .option('--no-id', 'make ids of the file, the row’s number and a digest')
    .option('--id-prefix <text>', 'put before each id', '')
    .option(
      '--vector <columns>',
      'column of vectors, or columns with a number each: "a,b,c" or "dim_*"; otherwise one named vector, embedding, …',
      names,
    )
    .option('--no-vector', 'have the service make vectors of the texts')
    .option('--text <column>', 'column of texts; otherwise one named text, content, …')
    .option('--no-text', 'store no text')
    .option('--metadata <columns>', 'columns that become metadata; otherwise all others', names)
    .option('--no-metadata', 'store no metadata')
    .option('--strings', 'keep values of CSV as text; otherwise numbers and true/false are made of them')
    .option('--numbers <columns>', 'columns of CSV whose values are numbers however they are written: 8.00, 1e5', names)
    .option('--columns <names>', 'names of the columns of a CSV file without a first line of them', names)
    .option('--delimiter <character>', 'between the values of a CSV file; otherwise its first line tells', oneCharacter)
    .addOption(
      new Option('--decimal <character>', 'before the fraction of numbers of a CSV file')
        .choices(['.', ','])
        .default('.'),
    )
    .addOption(
      new Option('--split <how>', 'how plain texts become items')
        .choices(['chunks', 'lines', 'file'])
        .default('chunks'),
    )
    .option('--chunk-size <characters>', 'longest chunk of a plain text', wholeNumber(2, 100_000), 500)
    .option('--chunk-overlap <characters>', 'shared by neighbouring chunks', wholeNumber(0, 50_000), 50)
    .option('--lanes <count>', 'requests under way at once', wholeNumber(1, LANES_MAX), 4)
    .option(
      '--batch-rows <count>',
      'rows of a request (default: 1000, or 100 where the service makes the vectors)',
      wholeNumber(1, 100_000),
    )
    .option('--batch-bytes <count>', 'bytes of a request', wholeNumber(1000, BATCH_BYTES_MAX), BATCH_BYTES)
    .option(
      '--retry-for <seconds>',
      'how long to try when the service does not answer, or is busy',
      positiveNumber,
      600,
    )
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
  if ([...character].length !== 1 || /["\r\n]/.test(character))
    throw new InvalidArgumentError('It must be one character, and none that ends lines or stands around values.');
  return character;
}

async function runImport(context: CommandContext, sources: string[], options: ImportOptions): Promise<void> {
  const startedAt = performance.now();
  const { list, leftOut } = listOf(context, sources, options);
  const rejectPath =
    options.rejects ?? `${sources[0] === '-' ? 'stdin' : basename(resolve(sources[0]))}${REJECTS_ENDING}`;
  const path = checkpointPathOf(context, sources, options);
  list.refuseAsOutput('--rejects', rejectPath);
  if (path !== null) list.refuseAsOutput('--checkpoint', path);
  const connection = connect(context, options);
  const existing = await findCollection(connection, options);
  const restart = options.restart === true || options.checkpoint === false;
  if (restart && path !== null) new ResumeFile(path, {}).remove();
  const resumeOf = (collection: Collection): ResumeFile<ImportState> | null =>
    path === null ? null : new ResumeFile(path, identityOf(list, options, collection));
  const before = existing === null ? null : (resumeOf(existing)?.read() ?? null);
  const start = before?.mark ?? { file: 0, inner: null, mapping: null };
  const { first, chunks } = await begun(
    list.read(start, (source, columns, records, ofFolders) =>
      mapColumns(columns, source.known, options, {
        ofFolders,
        isVector: (column) => (vectorLengthOf(records[0]?.fields[column]) ?? 0) > 1,
      }),
    ),
    options.maxRejects,
    existing === null,
  );
  if (before === null && first === null && existing === null)
    throw new CommandError('there are no rows to import', EXIT_CODES.usage);
  const collection =
    existing ??
    (await createCollection(
      connection,
      options,
      await dimensionOf(connection, options.dim, {
        mapping: first!.mapping!,
        records: first!.chunk.records,
        hasDecimalCommas: options.decimal === ',',
      }),
    ));
  const say = (line: string): void => void (options.quiet || context.messages.write(`${line}\n`));
  for (const { name, reason } of leftOut.slice(0, LEFT_OUT_SHOWN)) say(`${name} is left out: ${reason}`);
  if (leftOut.length > LEFT_OUT_SHOWN) say(`and ${count(leftOut.length - LEFT_OUT_SHOWN)} more files are left out`);
  if (before !== null) say(`going on after ${count(before.rows)} rows`);
  const state: ImportState = before ?? { mark: start, rows: 0, rejected: 0, added: 0, failedFiles: 0, rejectBytes: 0 };
  const progress = showProgress(context, {
    label: options.into,
    unit: 'rows',
    isQuiet: options.quiet === true,
    rowsBefore: state.rows,
  });
  const resume = resumeOf(collection);
  const settings = {
    collection: options.into,
    dim: collection.dim,
    lanes: options.lanes,
    batchItemsMax: options.batchRows ?? (first?.mapping?.vector === null ? TEXT_BATCH_ROWS : BATCH_ROWS_MAX),
    batchCharactersMax: options.batchBytes,
    requestTimeoutMs: options.timeout * 1000,
    patienceMs: options.retryFor * 1000,
    rejectsMax: options.maxRejects,
    idPrefix: options.idPrefix,
    guessTypes: options.strings !== true,
    numbers: new Set(options.numbers),
    hasDecimalCommas: options.decimal === ',',
  };
  const rowsBefore = state.rows;
  const run = new ImportRun(context, connection, state, settings, { resume, rejectPath, progress, say });
  try {
    await run.run(chunks, context.signal);
  } catch (error) {
    progress.stop();
    if (resume !== null && (state.rows > 0 || !(error instanceof CommandError && error.exitCode === EXIT_CODES.usage)))
      context.messages.write(`stopped after ${count(state.rows)} rows; the same command goes on from there\n`);
    throw error;
  }
  progress.stop();
  resume?.remove();
  const seconds = (performance.now() - startedAt) / 1000;
  const stored = state.rows - state.rejected;
  const added = Math.min(stored, state.added);
  const hasRejects = state.rejected > 0 || state.failedFiles > 0;
  if (options.json) {
    const outcome = {
      collection: options.into,
      rows: state.rows,
      stored,
      new: added,
      replaced: stored - added,
      rejected: state.rejected,
      failed_files: state.failedFiles,
    };
    printJson(context, { ...outcome, rejects: hasRejects ? rejectPath : null, seconds: Number(seconds.toFixed(3)) });
  } else {
    say(
      `stored ${count(stored)} rows in "${options.into}" in ${duration(seconds)} (${count(Math.round((state.rows - rowsBefore) / Math.max(seconds, 0.001)))}/s): ${count(added)} new, ${count(stored - added)} replaced`,
    );
  }
  if (!hasRejects) return;
  const what = [
    ...(state.failedFiles > 0 ? [files(state.failedFiles)] : []),
    ...(state.rejected > 0 ? [state.rejected === 1 ? '1 row' : `${count(state.rejected)} rows`] : []),
  ].join(' and ');
  context.messages.write(
    `${what} ${state.failedFiles + state.rejected === 1 ? 'was' : 'were'} not stored: ${rejectPath} says which and why\n`,
  );
  context.exitWith(state.failedFiles > 0 ? EXIT_CODES.usage : EXIT_CODES.rowsRejected);
}

function files(number: number): string {
  return number === 1 ? '1 file' : `${count(number)} files`;
}

/**
 * The first rows whose columns are known, which decide what a new collection is like, and all that there is, with what
 * came before them.
 */
async function begun(
  listed: AsyncGenerator<Listed>,
  unreadableMax: number,
  isNew: boolean,
): Promise<{ first: ListedChunk | null; chunks: AsyncGenerator<Listed> }> {
  const before: Listed[] = [];
  let unreadable = 0;
  let first: ListedChunk | null = null;
  while (first === null && unreadable <= unreadableMax) {
    const { value, done } = await listed.next();
    if (done) break;
    before.push(value);
    if ('failed' in value) unreadable += 1;
    else if ('empty' in value) continue;
    else if (value.mapping !== null && value.chunk.records.length > 0) first = value;
    else unreadable += value.chunk.unreadable.length;
  }
  if (first === null && before.length > 0 && isNew)
    throw new CommandError(`no row can be read: ${whyNone(before)}`, EXIT_CODES.usage);
  async function* chunks(): AsyncGenerator<Listed> {
    yield* before;
    yield* listed;
  }
  return { first, chunks: chunks() };
}

function whyNone(listed: Listed[]): string {
  for (const each of listed) {
    if ('failed' in each) return `${each.failed}: ${each.reason}`;
    if ('empty' in each) continue;
    const [bad] = each.chunk.unreadable;
    if (bad !== undefined) return `${each.chunk.place} ${bad.number}: ${bad.reason}`;
  }
  return 'there is none';
}

function listOf(
  context: CommandContext,
  sources: string[],
  options: ImportOptions,
): { list: SourceList; leftOut: FoundFiles['leftOut'] } {
  const sourceOptions: SourceOptions = {
    format: options.format ?? null,
    delimiter: options.delimiter ?? null,
    columns: options.columns ?? null,
    split:
      options.split === 'chunks'
        ? { by: 'chunks', size: options.chunkSize, overlap: options.chunkOverlap }
        : { by: options.split },
  };
  const isStream = sources.includes('-');
  if (isStream && sources.length > 1) throw new CommandError('"-" (standard input) stands alone', EXIT_CODES.usage);
  const found = isStream ? null : findFiles(sources, options.format ?? null);
  return { list: new SourceList(found?.files ?? null, sourceOptions, context), leftOut: found?.leftOut ?? [] };
}

/** Null: it is to be made. */
async function findCollection(connection: Connection, { into, create }: ImportOptions): Promise<Collection | null> {
  return connection.client
    .collection(into)
    .info()
    .catch((error: Error) => {
      if (error instanceof NotFoundError && create) return null;
      throw error instanceof NotFoundError
        ? new CommandError(`${error.message}; --create makes it`, EXIT_CODES.notFound, { cause: error })
        : error;
    });
}

async function createCollection(connection: Connection, options: ImportOptions, dim: number): Promise<Collection> {
  return connection.client.createCollection(newCollectionBody(options.into, dim, options) as never);
}

function checkpointPathOf(context: CommandContext, sources: string[], options: ImportOptions): string | null {
  if (options.checkpoint === false) return null;
  if (typeof options.checkpoint === 'string') return options.checkpoint;
  if (sources.includes('-')) return null;
  return resumePath(context.environment, [
    connect(context, options).target.url,
    options.into,
    sources.map((source) => resolve(source)),
  ]);
}

/** What a checkpoint belongs to. */
function identityOf(list: SourceList, options: ImportOptions, collection: Collection): Record<string, unknown> {
  const {
    format,
    delimiter,
    decimal,
    columns,
    split,
    chunkSize,
    chunkOverlap,
    id,
    idPrefix,
    vector,
    text,
    metadata,
    strings,
    numbers,
  } = options;
  return {
    source: list.fingerprint(),
    collection: [collection.name, collection.created_at],
    options: JSON.stringify({
      format,
      delimiter,
      decimal,
      columns,
      split,
      chunkSize,
      chunkOverlap,
      id,
      idPrefix,
      vector,
      text,
      metadata,
      strings,
      numbers,
    }),
    // By which rows become items: an earlier version made other ids.
    rules: 2,
  };
}
