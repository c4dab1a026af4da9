import type { Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import type { QuiverClient } from '../../clients/typescript/src/index';
import type { Document } from '../../clients/typescript/src/generated/api-types';
import { BadRequestError, RateLimitError } from '../../clients/typescript/src/errors';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import { count, printJson, size } from '../terminal/print';
import { showProgress } from '../terminal/progress';
import { table } from '../terminal/table';
import { type ConnectionOptions, connect, connected, jsonObject, wholeNumber } from './connected-command';

/** Of the files that a folder's documents are. */
const SUFFIXES = ['txt', 'md', 'markdown', 'html', 'htm', 'pdf', 'docx', 'csv', 'jsonl', 'ndjson'];
/** Documents that wait in the service, or are stored, at once. */
const AT_ONCE = 64;
const LOOK_MS = 500;
/** Between two attempts, where the service is busy with documents of others. */
const BUSY_MS = { first: 1_000, longest: 30_000 };

type DocumentOptions = ConnectionOptions & { json?: true };
type AddOptions = DocumentOptions & {
  into: string;
  metadata?: Record<string, unknown>;
  strategy?: 'sentences' | 'headings' | 'fixed';
  size?: number;
  overlap?: number;
  tokens?: true;
};

/** What became of the files of `quiver documents add`. */
interface AddReport {
  added: number;
  unchanged: number;
  failed: { file: string; error: string }[];
  ignored: number;
}

export function addDocumentCommands(program: Command, context: CommandContext): void {
  const documents = program
    .command('documents')
    .description('documents of a collection: add a folder of files, list, show, delete');
  const command = (name: string, description: string): Command =>
    connected(documents.command(name).description(description)).option('--json', 'print JSON');

  command(
    'add',
    'add files and folders; those that are there already, of the same content and options, are passed over',
  )
    .argument('<path...>', `files, and folders with files of these endings: ${SUFFIXES.join(', ')}`)
    .requiredOption('--into <collection>', 'the collection')
    .option('--metadata <json>', 'metadata of each chunk, as \'{"team": "law"}\'', jsonObject)
    .option('--strategy <name>', 'how documents are cut: sentences, headings or fixed')
    .option('--size <number>', 'longest chunk', wholeNumber(16, 1_000_000))
    .option('--overlap <number>', 'what a chunk shares with the next', wholeNumber(0, 500_000))
    .option('--tokens', 'size and overlap in tokens of the model, not in characters')
    .action(async (paths: string[], options: AddOptions) => addPaths(context, paths, options));
  command('list', 'list the documents of a collection')
    .argument('<collection>')
    .action(async (collection: string, options: DocumentOptions) => {
      const found: Document[] = [];
      for await (const document of connect(context, options).client.documents.list(collection)) found.push(document);
      if (options.json) return printJson(context, found);
      context.output.write(
        table(
          ['id', 'key', 'source', 'type', 'pages', 'chunks', 'size', 'updated'],
          found.map((one) => [
            one.document_id,
            one.document_key ?? '',
            one.source,
            one.type ?? '',
            one.pages,
            one.chunks,
            one.bytes === null ? '' : size(one.bytes),
            one.updated_at ?? '',
          ]),
        ),
      );
    });
  command('show', 'show what is stored of a document')
    .argument('<collection>')
    .argument('<id>')
    .action(async (collection: string, id: string, options: DocumentOptions) =>
      printJson(context, await connect(context, options).client.documents.get(collection, id)),
    );
  command('delete', 'delete a document with its chunks')
    .argument('<collection>')
    .argument('<id>')
    .action(async (collection: string, id: string, options: DocumentOptions) => {
      const deleted = await connect(context, options).client.documents.delete(collection, id);
      if (options.json) return printJson(context, deleted);
      context.output.write(`deleted ${count(deleted.deleted_chunks)} chunks\n`);
    });
}

async function addPaths(context: CommandContext, paths: string[], options: AddOptions): Promise<void> {
  const { client } = connect(context, options);
  const report: AddReport = { added: 0, unchanged: 0, failed: [], ignored: 0 };
  const files = await filesOf(paths, report);
  const known = new Map<string, string | null>();
  for await (const { document_key: key, fingerprint } of client.documents.list(options.into))
    if (key !== null) known.set(key, fingerprint);
  const progress = showProgress(context, { label: options.into, unit: 'documents', isQuiet: options.json === true });
  const waiting = new Map<string, string>();
  let over = 0;
  const look = async (): Promise<void> => {
    for (const [id, file] of [...waiting]) {
      const { state, error } = await client.jobs.get(id);
      if (state !== 'done' && state !== 'failed' && state !== 'cancelled') continue;
      waiting.delete(id);
      over += 1;
      if (state === 'done') report.added += 1;
      else report.failed.push({ file, error: error ?? 'its job was cancelled' });
    }
    progress.report(over / files.length, over);
  };
  const untilAtMost = async (most: number): Promise<void> => {
    while (waiting.size > most) {
      await look();
      if (waiting.size > most) await sleep(LOOK_MS, undefined, { signal: context.signal });
    }
  };
  try {
    for (const file of files) {
      context.signal.throwIfAborted();
      const bytes = await readFile(file.path);
      const fingerprint = fingerprintOf(bytes, options);
      if (known.get(file.key) === fingerprint) {
        report.unchanged += 1;
        over += 1;
        continue;
      }
      await untilAtMost(AT_ONCE - 1);
      try {
        // Its own documents that wait make room when they are stored.
        const hasRoom = async (): Promise<boolean> => {
          if (waiting.size === 0) return false;
          await untilAtMost(waiting.size - 1);
          return true;
        };
        waiting.set(await addFile(context, client, { ...file, bytes, fingerprint }, options, hasRoom), file.path);
      } catch (error) {
        if (!(error instanceof BadRequestError)) throw error;
        over += 1;
        report.failed.push({ file: file.path, error: error.message });
      }
    }
    await untilAtMost(0);
  } finally {
    progress.stop();
  }
  printReport(context, report, options);
}

/** Answers the job. Where too many wait, it is sent again when `hasRoom` says so, or after ever longer pauses. */
async function addFile(
  context: CommandContext,
  client: QuiverClient,
  { key, path, bytes, fingerprint }: { key: string; path: string; bytes: Uint8Array; fingerprint: string },
  options: AddOptions,
  hasRoom: () => Promise<boolean>,
): Promise<string> {
  const { into, metadata } = options;
  const chunking = chunkingOf(options);
  for (let pauseMs = BUSY_MS.first; ; pauseMs = Math.min(2 * pauseMs, BUSY_MS.longest)) {
    try {
      const added = await client.documents.add(
        into,
        {
          file: bytes,
          name: basename(path),
          document_key: key,
          chunking,
          fingerprint,
          ...(metadata !== undefined && { metadata }),
        },
        { signal: context.signal },
      );
      return added.job_id;
    } catch (error) {
      if (!(error instanceof RateLimitError)) throw error;
      if (await hasRoom()) continue;
      await sleep(Math.max(pauseMs, error.retryAfterMs ?? 0), undefined, { signal: context.signal });
    }
  }
}

function chunkingOf({ strategy, size: longest, overlap, tokens }: AddOptions) {
  return { strategy, size: longest, overlap, ...(tokens === true && { unit: 'tokens' as const }) };
}

/** Of all that decides what is stored of a file, as it was asked for. */
function fingerprintOf(bytes: Uint8Array, options: AddOptions): string {
  const asked = JSON.stringify([options.metadata ?? {}, chunkingOf(options)]);
  return createHash('sha256').update(asked).update('\0').update(bytes).digest('hex');
}

function printReport(context: CommandContext, report: AddReport, { json }: AddOptions): void {
  const { added, unchanged, failed, ignored } = report;
  if (json) printJson(context, report);
  else {
    for (const { file, error } of failed) context.messages.write(`${file}: ${error}\n`);
    const more = ignored === 0 ? '' : `, ${count(ignored)} of other types passed over`;
    context.output.write(
      `${count(added)} added, ${count(unchanged)} unchanged, ${count(failed.length)} failed${more}\n`,
    );
  }
  if (failed.length > 0) context.exitWith(EXIT_CODES.rowsRejected);
}

/** Files by their paths within what was given, which are the keys of their documents. */
async function filesOf(paths: string[], report: AddReport): Promise<{ path: string; key: string }[]> {
  const files: { path: string; key: string }[] = [];
  for (const given of paths) {
    const found = await stat(given).catch(() => null);
    if (found === null) throw new CommandError(`there is no file or folder ${given}`, EXIT_CODES.usage);
    if (!found.isDirectory()) {
      files.push({ path: given, key: basename(given) });
      continue;
    }
    for (const entry of await readdir(given, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      if (SUFFIXES.includes(/\.(\w+)$/.exec(entry.name)?.[1].toLowerCase() ?? ''))
        files.push({ path, key: relative(given, path).split(sep).join('/') });
      else report.ignored += 1;
    }
  }
  files.sort((a, b) => (a.key < b.key ? -1 : 1));
  for (const [i, { key, path }] of files.entries())
    if (i > 0 && files[i - 1].key === key)
      throw new CommandError(
        `${files[i - 1].path} and ${path} would both be the document ${key}: ` +
          'give a folder that has both, or add them apart',
        EXIT_CODES.usage,
      );
  return files;
}
