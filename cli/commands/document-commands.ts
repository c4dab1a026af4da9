import { type Command, Option } from 'commander';
import type { Document } from '../../clients/typescript/src/generated/api-types';
import type { DocumentOptions as NewDocumentOptions } from '../../clients/typescript/src/index';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import { type AddReport, DocumentAdding } from '../documents/adding';
import { type AddFailure, DOCUMENT_SUFFIXES, documentsIn } from '../documents/folder-documents';
import { count, printJson, size } from '../terminal/print';
import { showProgress } from '../terminal/progress';
import { printable, table } from '../terminal/table';
import {
  type ConnectionOptions,
  connect,
  connected,
  jsonObject,
  positiveNumber,
  wholeNumber,
} from './connected-command';

/** Of names that are told of many. */
const SHOWN = 10;
/** Longer than the window of the service's rate limit. */
const RATE_OVER_MS = 150_000;
/** Waits for one reason that are told each; of shorter ones, the first. */
const TOLD_WAIT_MS = 5_000;
/** The largest that the service gives. */
const PAGE = 1_000;

type DocumentOptions = ConnectionOptions & { json?: true };
type AddOptions = DocumentOptions & {
  into: string;
  metadata?: Record<string, unknown>;
  strategy?: 'sentences' | 'headings' | 'fixed';
  size?: number;
  overlap?: number;
  tokens?: true;
  prefix?: string;
  again?: true;
  retryFor: number;
};

export function addDocumentCommands(program: Command, context: CommandContext): void {
  const documents = program
    .command('documents')
    .description('documents of a collection: add a folder of files, list, show, delete');
  const command = (name: string, description: string): Command =>
    connected(documents.command(name).description(description)).option('--json', 'print JSON');

  command(
    'add',
    'add files and folders; those that are there already, of the same content and options, are passed over; interrupted, the same command goes on',
  )
    .argument('<path...>', `files, and folders with files of these endings: ${DOCUMENT_SUFFIXES.join(', ')}`)
    .requiredOption('--into <collection>', 'the collection')
    .option('--metadata <json>', 'metadata of each chunk, as \'{"team": "law"}\'', jsonObject)
    .addOption(new Option('--strategy <name>', 'how documents are cut').choices(['sentences', 'headings', 'fixed']))
    .option('--size <number>', 'longest chunk', wholeNumber(16, 1_000_000))
    .option('--overlap <number>', 'what a chunk shares with the next', wholeNumber(0, 500_000))
    .option('--tokens', 'size and overlap in tokens of the model, not in characters')
    .option('--prefix <text>', 'put before each key: folders with the same names become documents of their own')
    .option('--again', 'add what is there unchanged, too')
    .option(
      '--retry-for <seconds>',
      'how long to try when the service does not answer, or is busy',
      positiveNumber,
      600,
    )
    .action(async (paths: string[], options: AddOptions) => addPaths(context, paths, options));
  command('list', 'list the documents of a collection')
    .argument('<collection>')
    .action(async (collection: string, options: DocumentOptions) => {
      const found: Document[] = [];
      for await (const document of connect(context, options).client.documents.list(collection, { limit: PAGE }))
        found.push(document);
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
  const { files, failed, ignored, linkedFolders } = await documentsIn(paths, options.prefix);
  const progress = showProgress(context, {
    label: options.into,
    unit: 'documents',
    isQuiet: options.json === true,
    rateOverMs: RATE_OVER_MS,
  });
  const say = (line: string): void => progress.say(printable(line));
  let over = 0;
  const onOver = (failure: AddFailure | null): void => {
    if (failure !== null) say(`${failure.file}: ${failure.error}`);
    over += 1;
    progress.report(over / files.length, over);
  };
  let lastReason = '';
  const onWait = (reason: string, waitMs: number | null): void => {
    if (waitMs === null) return say(`the service waits: ${reason}`);
    const kind = reason.replaceAll(/\d+/g, '');
    if (waitMs >= TOLD_WAIT_MS || kind !== lastReason) say(`waiting ${Math.ceil(waitMs / 1000)} s: ${reason}`);
    lastReason = kind;
  };
  const adding = new DocumentAdding(client, {
    collection: options.into,
    document: documentOf(options),
    again: options.again === true,
    patienceMs: options.retryFor * 1000,
    signal: context.signal,
    onOver,
    onWait,
  });
  const report = (): AddReport & { ignored: number } => {
    const { report: made } = adding;
    return { ...made, failed: [...failed, ...made.failed], ignored };
  };
  try {
    for (const { file, error } of failed) say(`${file}: ${error}`);
    await adding.run(files);
  } catch (error) {
    progress.stop();
    if (options.json) printJson(context, report());
    const stopped = stoppedLine(report());
    if (context.signal.aborted)
      throw new CommandError(`interrupted: ${stopped}`, EXIT_CODES.interrupted, { cause: error });
    // Of what could not begin, there is nothing to tell but why.
    if (over > 0 || report().under_way > 0) context.messages.write(`${stopped}\n`);
    throw error;
  }
  progress.stop();
  printReport(context, report(), linkedFolders, options);
}

function documentOf({ metadata, strategy, size: longest, overlap, tokens }: AddOptions): NewDocumentOptions {
  return {
    chunking: { strategy, size: longest, overlap, ...(tokens === true && { unit: 'tokens' as const }) },
    ...(metadata !== undefined && { metadata }),
  };
}

/** What became of the files until the command stopped. */
function stoppedLine({ added, unchanged, failed, under_way: underWay, left }: AddReport): string {
  const sofar = `${count(added)} added, ${count(unchanged)} unchanged, ${count(failed.length)} failed`;
  const service = underWay === 0 ? '' : `${count(underWay)} more are sent, and stored without this command; `;
  return `${sofar}, ${count(left)} left; ${service}the same command goes on from here`;
}

function printReport(
  context: CommandContext,
  report: AddReport & { ignored: number },
  linkedFolders: string[],
  { json }: AddOptions,
): void {
  const { added, unchanged, failed, ignored, replaced } = report;
  if (json) printJson(context, report);
  else {
    if (linkedFolders.length > 0)
      context.messages.write(`linked folders are passed over; add them by their own paths: ${some(linkedFolders)}\n`);
    if (replaced.length > 0)
      context.messages.write(
        `${count(replaced.length)} replaced documents of the same keys from another folder (--prefix keeps both): ${some(replaced)}\n`,
      );
    const more = ignored === 0 ? '' : `, ${count(ignored)} hidden or of other types passed over`;
    context.output.write(
      `${count(added)} added, ${count(unchanged)} unchanged, ${count(failed.length)} failed${more}\n`,
    );
  }
  if (failed.length > 0) context.exitWith(EXIT_CODES.rowsRejected);
}

function some(names: string[]): string {
  const more = names.length > SHOWN ? ` and ${count(names.length - SHOWN)} more` : '';
  return names.slice(0, SHOWN).map(printable).join(', ') + more;
}
