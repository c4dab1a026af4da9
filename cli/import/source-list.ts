import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { openFile, openStream, type SourceFile, type SourceOptions } from '../formats/open-source';
import { CommandError, EXIT_CODES } from '../command-error';
import { itemsPathOf } from '../formats/paired-items';
import type { RecordChunk, RecordSource, SourceRecord } from '../formats/record-source';
import type { CommandContext } from '../command-context';
import { type ColumnMapping, wantedColumns } from './column-mapping';
import { inPartition, partitionsOf } from './partitions';

/** Where reading goes on: in which file, and where in it. */
export interface ListCursor {
  file: number;
  /** Null: at its beginning. */
  inner: unknown;
  /** What the columns of that file are; null: that is found out at its beginning. */
  mapping: ColumnMapping | null;
}

/** Rows that were read together, with what their file's format says of values. */
export interface ListedChunk {
  chunk: RecordChunk;
  source: RecordSource;
  /** Null: no row of the file could be read yet. */
  mapping: ColumnMapping | null;
  /** Names of the file's columns that were seen. */
  columns: string[];
  /** For messages; the number tells files of the same name apart. */
  file: { name: string; number: number };
  cursor: ListCursor;
  /** Of all files together. */
  share: number | null;
}

/** A file among several that can't be read, or not to its end. */
export interface FailedFile {
  failed: string;
  reason: string;
  cursor: ListCursor;
  share: number | null;
}

/** A file among several that holds nothing but, perhaps, the names of its columns. */
export interface EmptyFile {
  empty: string;
}

/** What comes of reading files, one piece after the other. */
export type Listed = ListedChunk | FailedFile | EmptyFile;

/**
 * Decides what the columns of a file are, and of the folders above it; throws a CommandError when they can't be used.
 */
export type MapColumns = (
  source: RecordSource,
  columns: string[],
  records: SourceRecord[],
  ofFolders: string[],
) => ColumnMapping;

/** Of the ends of a file, so that one that was changed in place is noticed, too. */
const PEEK_BYTES = 65_536;
const PEEKED_FILES_MAX = 100;

/** The files of an import one after the other, or standard input. */
export class SourceList {
  private readonly sizes: number[];

  constructor(
    private readonly files: SourceFile[] | null,
    private readonly options: SourceOptions,
    private readonly context: CommandContext,
  ) {
    this.sizes = (files ?? []).map(({ path }) => statSync(path).size);
  }

  /** What a checkpoint knows these files by; standard input has no such thing. */
  fingerprint(): string {
    const hash = createHash('sha256');
    for (const [i, { path, name, format }] of (this.files ?? []).entries()) {
      const { size, mtimeMs } = statSync(path);
      hash.update(JSON.stringify([resolve(path), name, format, size, mtimeMs]));
      if (i < PEEKED_FILES_MAX) hash.update(endsOf(path, size));
      const items = itemsPathOf(path);
      if (format === 'npy' && existsSync(items))
        hash.update(JSON.stringify([items, statSync(items).size, statSync(items).mtimeMs]));
    }
    return this.files === null ? 'standard input' : hash.digest('hex');
  }

  /** Fails when what is to be written would replace what is to be read. */
  refuseAsOutput(option: string, output: string): void {
    if (!existsSync(output)) return;
    const written = realpathSync(output);
    const read = (this.files ?? [])
      .flatMap(({ path }) => [path, itemsPathOf(path)])
      .find((path) => existsSync(path) && realpathSync(path) === written);
    if (read !== undefined)
      throw new CommandError(`${read} is a source of this import: ${option} must be another file`, EXIT_CODES.usage);
  }

  /**
   * From a mark on. Each file has columns of its own. Where there are several, one that can't be read is told and
   * passed over; a single one throws a CommandError with the code for what is not as it must be.
   */
  async *read(cursor: ListCursor, mapColumns: MapColumns): AsyncGenerator<Listed> {
    const { files } = this;
    const hasSeveral = files !== null && files.length > 1;
    const total = this.sizes.reduce((sum, size) => sum + size, 0);
    let before = this.sizes.slice(0, cursor.file).reduce((sum, size) => sum + size, 0);
    for (let i = cursor.file; i < (files?.length ?? 1); i++) {
      const name = files?.[i].name ?? 'stdin';
      const shareOf = (part: number): number | null =>
        files === null ? null : total === 0 ? 1 : (before + part * this.sizes[i]) / total;
      let isEmpty = i !== cursor.file || cursor.inner === null;
      try {
        const start = i === cursor.file ? cursor : { file: i, inner: null, mapping: null };
        for await (const listed of this.readFile(start, mapColumns)) {
          const chunk = {
            ...listed.chunk,
            place: hasSeveral ? `${name}: ${listed.chunk.place}` : listed.chunk.place,
            idPrefix: `${name}:`,
          };
          isEmpty = false;
          yield { ...listed, chunk, file: { name, number: i }, share: shareOf(listed.chunk.share ?? 0) };
        }
        if (isEmpty && hasSeveral) yield { empty: name };
      } catch (error) {
        if (this.context.signal.aborted || !(error instanceof CommandError || 'syscall' in (error as Error)))
          throw error;
        const { message } = error as Error;
        if (!hasSeveral)
          throw error instanceof CommandError && error.exitCode !== EXIT_CODES.failed
            ? error
            : new CommandError(message, EXIT_CODES.usage, { cause: error });
        yield { failed: name, reason: message, cursor: { file: i + 1, inner: null, mapping: null }, share: shareOf(1) };
      }
      before += this.sizes[i] ?? 0;
    }
  }

  private async *readFile(
    start: ListCursor,
    mapColumns: MapColumns,
  ): AsyncGenerator<Omit<ListedChunk, 'file' | 'share'>> {
    const source =
      this.files === null
        ? await openStream(this.context.input, this.options)
        : await openFile(this.files[start.file], this.options);
    // Of a table of texts, numbers are made later, if that is wanted.
    const partitions = this.files === null ? {} : partitionsOf(this.files[start.file].name, !source.hasTextOnly);
    const ofFolders = Object.keys(partitions);
    let { mapping } = start;
    if (mapping === null && source.columns !== null) mapping = mapColumns(source, source.columns, [], ofFolders);
    for await (const read of source.read(start.inner, mapping === null ? null : wantedColumns(mapping))) {
      const own = source.columns ?? [...new Set(read.records.flatMap(({ fields }) => Object.keys(fields)))];
      if (mapping === null && read.records.length > 0) mapping = mapColumns(source, own, read.records, ofFolders);
      const chunk = { ...read, records: inPartition(read.records, partitions) };
      const columns = [...new Set([...own, ...ofFolders])];
      yield { chunk, source, mapping, columns, cursor: { file: start.file, inner: chunk.cursor, mapping } };
    }
  }
}

function endsOf(path: string, size: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(2 * PEEK_BYTES);
    const read = readSync(file, bytes, 0, PEEK_BYTES, 0);
    return bytes.subarray(0, read + readSync(file, bytes, read, PEEK_BYTES, Math.max(0, size - PEEK_BYTES)));
  } finally {
    closeSync(file);
  }
}
