import { existsSync } from 'node:fs';
import { type Command, Option } from 'commander';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import { runExport } from '../export/export-run';
import type { ItemWriter } from '../export/item-writer';
import { JsonLinesWriter } from '../export/json-lines-writer';
import { NpyWriter } from '../export/npy-writer';
import { ParquetItemWriter } from '../export/parquet-writer';
import { count } from '../terminal/print';
import { duration, showProgress } from '../terminal/progress';
import {
  type ConnectionOptions,
  connect,
  connected,
  filtered,
  filterOf,
  type FilterOptions,
  positiveNumber,
} from './connected-command';

const EXPORT_FORMATS = ['jsonl', 'parquet', 'npy'] as const;
type ExportFormat = (typeof EXPORT_FORMATS)[number];

interface ExportOptions extends ConnectionOptions, FilterOptions {
  to: string;
  format?: ExportFormat;
  vectors: boolean;
  force?: true;
  retryFor: number;
  quiet?: true;
}

export function addExportCommand(program: Command, context: CommandContext): void {
  const command = connected(
    program
      .command('export')
      .description('write a collection of any size, or what a filter finds, to a file')
      .argument('<collection>'),
  )
    .requiredOption(
      '--to <file>',
      'a name that ends in .jsonl, .jsonl.gz, .parquet or .npy; "-" for JSON lines on standard output',
    )
    .addOption(new Option('--format <format>', 'what to write; otherwise the name says it').choices(EXPORT_FORMATS));
  filtered(command, 'only items whose metadata match')
    .option('--no-vectors', 'leave the vectors out')
    .option('--force', 'write over a file that is there')
    .option(
      '--retry-for <seconds>',
      'how long to try when the service does not answer, or is busy',
      positiveNumber,
      600,
    )
    .option('--quiet', 'show no progress')
    .action(async (name: string, options: ExportOptions) => exportCollection(context, name, options));
}

async function exportCollection(context: CommandContext, name: string, options: ExportOptions): Promise<void> {
  const startedAt = performance.now();
  const format = options.format ?? formatOfName(options.to);
  if (format === null)
    throw new CommandError(
      `what format is ${options.to}? Its name does not say it: give --format (${EXPORT_FORMATS.join(', ')})`,
      EXIT_CODES.usage,
    );
  if (options.to !== '-' && existsSync(options.to) && !options.force)
    throw new CommandError(`${options.to} is there already; --force writes over it`, EXIT_CODES.usage);
  if (options.to === '-' && format !== 'jsonl')
    throw new CommandError('standard output takes JSON lines only', EXIT_CODES.usage);
  if (format === 'npy' && !options.vectors) throw new CommandError('a .npy file holds vectors', EXIT_CODES.usage);
  const connection = connect(context, options);
  const { dim, vector_count: total } = await connection.client.collection(name).info();
  const writer = await writerOf(context, format, options, dim);
  const progress = showProgress(context, {
    label: name,
    unit: 'items',
    isQuiet: options.quiet === true || (options.to === '-' && context.messages.isTTY !== true),
  });
  // How many a filter finds is known at the end, and so is how many there are while a shard does not answer.
  const share = (rows: number): number | null =>
    filterOf(options) !== undefined || total < 0 ? null : total === 0 ? 1 : Math.min(1, rows / total);
  let rows: number;
  try {
    rows = await runExport(connection, writer, {
      collection: name,
      dim,
      filters: filterOf(options),
      hasVectors: options.vectors,
      patienceMs: options.retryFor * 1000,
      signal: context.signal,
      onRows: (done) => progress.report(share(done), done),
      onWait: (reason) => progress.say(`waiting: ${reason}`),
    });
    await writer.finish();
  } catch (error) {
    await writer.abandon();
    throw error;
  } finally {
    progress.stop();
  }
  if (!options.quiet)
    context.messages.write(
      `wrote ${count(rows)} items to ${options.to === '-' ? 'standard output' : options.to} in ${duration((performance.now() - startedAt) / 1000)}\n`,
    );
}

async function writerOf(
  context: CommandContext,
  format: ExportFormat,
  { to, vectors }: ExportOptions,
  dim: number,
): Promise<ItemWriter> {
  switch (format) {
    case 'jsonl':
      return new JsonLinesWriter(to === '-' ? null : to, context.output, context.signal);
    case 'parquet':
      return ParquetItemWriter.open(to, { dim, hasVectors: vectors });
    case 'npy':
      return NpyWriter.open(to, dim);
  }
}

function formatOfName(name: string): ExportFormat | null {
  if (name === '-' || /\.(?:jsonl|ndjson)(?:\.gz)?$/i.test(name)) return 'jsonl';
  if (/\.(?:parquet|pq)$/i.test(name)) return 'parquet';
  return name.endsWith('.npy') ? 'npy' : null;
}
