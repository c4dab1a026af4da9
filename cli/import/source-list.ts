import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { openFile, openStream, type SourceFile, type SourceOptions } from '../formats/open-source';
import { CommandError, EXIT_CODES } from '../command-error';
import { itemsPathOf } from '../formats/paired-items';
import type { RecordChunk, RecordSource } from '../formats/record-source';
import type { CommandContext } from '../command-context';

/** Where reading goes on: in which file, and where in it. */
export interface ListMark {
  file: number;
  /** Null: at its beginning. */
  inner: unknown;
}

/** Rows that were read together, with what their file's format says of values. */
export interface ListedChunk {
  chunk: RecordChunk;
  source: RecordSource;
  mark: ListMark;
  /** Of all files together. */
  share: number | null;
}

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
      if (format === 'npy' && existsSync(items)) hash.update(JSON.stringify([items, statSync(items).size, statSync(items).mtimeMs]));
    }
    return this.files === null ? 'standard input' : hash.digest('hex');
  }

  /** Fails when what is to be written would replace what is to be read. */
  refuseAsOutput(option: string, output: string): void {
    if (!existsSync(output)) return;
    const written = realpathSync(output);
    const read = (this.files ?? []).flatMap(({ path }) => [path, itemsPathOf(path)]).find((path) => existsSync(path) && realpathSync(path) === written);
    if (read !== undefined) throw new CommandError(`${read} is a source of this import: ${option} must be another file`, EXIT_CODES.usage);
  }

  /** From a mark on. `wanted` is asked before a file is opened: the first chunk may decide what is wanted. */
  async *read(mark: ListMark, wanted: () => ReadonlySet<string> | null): AsyncGenerator<ListedChunk> {
    if (this.files === null) {
      const source = await openStream(this.context.input, this.options);
      for await (const chunk of source.read(mark.inner, wanted())) yield { chunk, source, mark: { file: 0, inner: chunk.mark }, share: null };
      return;
    }
    const total = this.sizes.reduce((sum, size) => sum + size, 0);
    const hasSeveral = this.files.length > 1;
    let before = this.sizes.slice(0, mark.file).reduce((sum, size) => sum + size, 0);
    for (let i = mark.file; i < this.files.length; i++) {
      const file = this.files[i];
      const source = await openFile(file, this.options);
      for await (const chunk of source.read(i === mark.file ? mark.inner : null, wanted())) {
        const named = hasSeveral ? { ...chunk, place: `${file.name}: ${chunk.place}`, idPrefix: `${file.name}:` } : chunk;
        const share = total === 0 ? 1 : (before + (chunk.share ?? 0) * this.sizes[i]) / total;
        yield { chunk: named, source, mark: { file: i, inner: chunk.mark }, share };
      }
      before += this.sizes[i];
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
