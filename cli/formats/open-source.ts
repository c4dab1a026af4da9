import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, join, relative, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { CommandError, EXIT_CODES } from '../command-error';
import { ArrowSource } from './arrow/arrow';
import { ByteSource, type Compression, compressionOf, headOf } from './byte-source';
import { CsvSource } from './csv';
import { FOREIGN_HEAD_BYTES, refuseForeign } from './foreign-files';
import { JsonLinesSource } from './json/json-lines';
import { NpySource } from './npy';
import { itemsPathOf, PairedSource } from './paired-items';
import { ParquetSource } from './parquet/parquet';
import type { RecordSource } from './record-source';
import { type TextSplit, TextSource } from './texts';
import { VecsSource } from './vector-files';

export const FORMATS = ['jsonl', 'csv', 'tsv', 'parquet', 'npy', 'fvecs', 'bvecs', 'ivecs', 'arrow', 'text'] as const;
export type Format = (typeof FORMATS)[number];

const FORMATS_BY_ENDING: Record<string, Format> = {
  jsonl: 'jsonl',
  ndjson: 'jsonl',
  json: 'jsonl',
  csv: 'csv',
  tsv: 'tsv',
  tab: 'tsv',
  parquet: 'parquet',
  pq: 'parquet',
  npy: 'npy',
  fvecs: 'fvecs',
  bvecs: 'bvecs',
  ivecs: 'ivecs',
  arrow: 'arrow',
  arrows: 'arrow',
  feather: 'arrow',
  ipc: 'arrow',
  txt: 'text',
  text: 'text',
  md: 'text',
};
/** What an import calls its list of bad rows; in a folder it is no source of another import. */
export const REJECTS_ENDING = '.rejects.jsonl';
const COMPRESSIONS: Record<string, Compression> = { gz: 'gz', gzip: 'gz', zst: 'zst', zstd: 'zst' };

export interface SourceOptions {
  /** Null: by the name's ending, or for standard input by the first bytes. */
  format: Format | null;
  delimiter: string | null;
  /** Names of columns for CSV without a line of them. */
  columns: string[] | null;
  split: TextSplit;
}

/** One file to read. */
export interface SourceFile {
  path: string;
  format: Format;
  /** Its path in the folder that was named; its own name otherwise. */
  name: string;
}

/** What an import reads, and what lies beside it and is not read. */
export interface FoundFiles {
  files: SourceFile[];
  leftOut: { name: string; reason: string }[];
}

/** What Hugging Face's data sets say of themselves, in JSON. */
const DESCRIPTIONS = ['dataset_info.json', 'dataset_infos.json', 'dataset_dict.json', 'state.json'];

/**
 * What the named files and folders hold, in order. A folder is searched through for files of known formats, by name;
 * what describes data, and texts beside data, are not read.
 */
export function findFiles(paths: string[], format: Format | null): FoundFiles {
  const found: FoundFiles = { files: [], leftOut: [] };
  for (const path of paths) {
    if (!existsSync(path)) throw new CommandError(`${path} is not there`, EXIT_CODES.usage);
    const kind = statSync(path);
    if (!kind.isDirectory()) {
      // It can be read once, and from its beginning only.
      if (!kind.isFile())
        throw new CommandError(
          `${path} is a pipe or a device, and no file: pipe it into standard input, as in: zcat a.gz | quiver import - --format jsonl`,
          EXIT_CODES.usage,
        );
      found.files.push({ path, format: format ?? formatOf(path) ?? unknownFormat(path), name: basename(path) });
      continue;
    }
    const inFolder = filesIn(path, format);
    if (inFolder.files.length === 0)
      throw new CommandError(`there is no file of a known format in ${path}`, EXIT_CODES.usage);
    found.files.push(...inFolder.files);
    found.leftOut.push(...inFolder.leftOut);
  }
  return found;
}

/** Hidden files and folders, and those that programs keep beside data, such as `_SUCCESS`. */
function isLeftOut(name: string): boolean {
  return name.startsWith('.') || name.startsWith('_');
}

function filesIn(folder: string, format: Format | null): FoundFiles {
  const paths = readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter(
      (entry) =>
        (entry.isFile() || entry.isSymbolicLink()) &&
        !relative(folder, join(entry.parentPath, entry.name)).split(sep).some(isLeftOut) &&
        !entry.name.endsWith(REJECTS_ENDING),
    )
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
  // A format that is given is that of the files whose names say it, or where none does of all.
  const isSaid = format !== null && paths.some((path) => formatOf(path) === format);
  const known = paths.flatMap((path): SourceFile[] => {
    const own = format === null || isSaid ? formatOf(path) : format;
    return own === null || (format !== null && own !== format)
      ? []
      : [{ path, format: own, name: relative(folder, path) }];
  });
  const isUnknown = (path: string): boolean => format === null && formatOf(path) === null;
  const pairs = new Set(known.filter(({ path }) => path.endsWith('.npy')).map(({ path }) => itemsPathOf(path)));
  const alone = known.filter(({ path }) => !pairs.has(path)).sort((a, b) => (a.name < b.name ? -1 : 1));
  const reasons = new Map<SourceFile, string>();
  const isDescription = ({ path }: SourceFile): boolean => format === null && DESCRIPTIONS.includes(basename(path));
  const hasData = alone.some((file) => file.format !== 'text' && !isDescription(file));
  for (const file of alone) {
    if (isDescription(file)) reasons.set(file, 'it describes data');
    else if (hasData && file.format === 'text') reasons.set(file, 'a text beside data; --format text reads texts');
  }
  return {
    files: alone.filter((file) => !reasons.has(file)),
    leftOut: [
      ...[...reasons].map(([{ name }, reason]) => ({ name, reason })),
      ...paths
        .filter(isUnknown)
        .sort()
        .map((path) => ({ name: relative(folder, path), reason: 'it is of no known format' })),
    ],
  };
}

/** What stands in the place of a large file until Git has fetched it. */
const LFS_POINTER = Buffer.from('version https://git-lfs.github.com/spec/');
/** Those that begin with a head of their own: an empty file is none. */
const WITH_HEAD: readonly Format[] = ['parquet', 'npy', 'arrow'];

export async function openFile(file: SourceFile, options: SourceOptions): Promise<RecordSource> {
  const head = headOf(file.path, LFS_POINTER.length);
  if (head.equals(LFS_POINTER))
    throw new CommandError(
      `${file.path} is a pointer of Git LFS, not the file itself; git lfs pull fetches it`,
      EXIT_CODES.usage,
    );
  refuseForeign(file.path, head, file.format);
  if (head.length === 0 && WITH_HEAD.includes(file.format))
    throw new CommandError(`${file.path} is empty`, EXIT_CODES.usage);
  const compression = compressionOf(head);
  if (file.format === 'parquet') {
    if (compression !== null)
      throw new CommandError(`${file.path}: a Parquet file is compressed inside; unpack it first`, EXIT_CODES.usage);
    return ParquetSource.open(file.path);
  }
  const bytes = new ByteSource(file.path, { path: file.path }, compression);
  if (file.format === 'npy' && existsSync(itemsPathOf(file.path)))
    return new PairedSource(new NpySource(bytes), itemsPathOf(file.path));
  return sourceOf(bytes, file.format, options, file.name);
}

/** Standard input, which is told by its first bytes unless the format is given. */
export async function openStream(input: Readable, options: SourceOptions): Promise<RecordSource> {
  const head = await firstBytes(input);
  const compression = compressionOf(head);
  const format = options.format ?? (compression === null ? formatOfBytes(head) : null);
  refuseForeign('standard input', head, format);
  if (format === null) throw new CommandError('what format is standard input? Say it with --format', EXIT_CODES.usage);
  if (format === 'parquet')
    throw new CommandError('a Parquet file is read from its end: give it as a file', EXIT_CODES.usage);
  return sourceOf(new ByteSource('standard input', { stream: input }, compression), format, options, 'stdin');
}

function sourceOf(
  bytes: ByteSource,
  format: Exclude<Format, 'parquet'>,
  options: SourceOptions,
  name: string,
): RecordSource {
  switch (format) {
    case 'jsonl':
      return new JsonLinesSource(bytes);
    case 'csv':
    case 'tsv':
      return new CsvSource(bytes, {
        delimiter: options.delimiter ?? (format === 'tsv' ? '\t' : null),
        columns: options.columns ?? undefined,
      });
    case 'npy':
      return new NpySource(bytes);
    case 'fvecs':
    case 'bvecs':
    case 'ivecs':
      return new VecsSource(bytes, format);
    case 'arrow':
      return new ArrowSource(bytes);
    case 'text':
      return new TextSource(bytes, options.split, name);
  }
}

/** By the ending of a name, without that of a compression. */
export function formatOf(path: string): Format | null {
  const endings = path.toLowerCase().split('.').slice(1);
  if (endings.length > 1 && Object.hasOwn(COMPRESSIONS, endings.at(-1)!)) endings.pop();
  const ending = endings.at(-1);
  return ending !== undefined && Object.hasOwn(FORMATS_BY_ENDING, ending) ? FORMATS_BY_ENDING[ending] : null;
}

function unknownFormat(path: string): never {
  refuseForeign(path, headOf(path, FOREIGN_HEAD_BYTES), null);
  throw new CommandError(
    `what format is ${path}? Its name does not say it: give --format (${FORMATS.join(', ')})`,
    EXIT_CODES.usage,
  );
}

function formatOfBytes(head: Buffer): Format | null {
  const text = head.toString('latin1');
  if (text.startsWith('\u0093NUMPY')) return 'npy';
  if (text.startsWith('ARROW1') || text.startsWith('\u00ff\u00ff\u00ff\u00ff')) return 'arrow';
  if (text.startsWith('PAR1')) return 'parquet';
  return /^\s*[[{]/.test(text) ? 'jsonl' : null;
}

/** Looks at the beginning of a stream and puts it back. */
async function firstBytes(input: Readable): Promise<Buffer> {
  for (;;) {
    const piece = input.read() as Buffer | null;
    if (piece !== null) {
      input.unshift(piece);
      return piece.subarray(0, 64);
    }
    if (input.readableEnded) return Buffer.alloc(0);
    await new Promise<void>((done) => {
      input.once('readable', done);
      input.once('end', done);
    });
  }
}
