import { renameSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { losslessJson } from '../formats/json/lossless-json';
import { itemsPathOf } from '../formats/paired-items';
import { type ExportedItem, type ItemWriter, partOf } from './item-writer';

/** Room for any number of rows, so that it can be filled in at the end. */
const HEAD_BYTES = 128;

/** NumPy's `.npy` of float32, and the rest of each item in a file of lines beside it. */
export class NpyWriter implements ItemWriter {
  readonly wantsNumbers = false;
  private rows = 0;

  private constructor(
    private readonly path: string,
    private readonly dim: number,
    private readonly vectors: FileHandle,
    private readonly items: FileHandle,
  ) {}

  static async open(path: string, dim: number): Promise<NpyWriter> {
    const vectors = await open(partOf(path), 'w');
    await vectors.write(headOf(0, dim));
    return new NpyWriter(path, dim, vectors, await open(partOf(itemsPathOf(path)), 'w'));
  }

  async write(items: ExportedItem[]): Promise<void> {
    const floats = new Float32Array(items.length * this.dim);
    items.forEach(({ vector = [] }, i) => floats.set(vector, i * this.dim));
    // Appending goes on until all is written; a lone write may end early.
    await this.vectors.appendFile(new Uint8Array(floats.buffer));
    await this.items.appendFile(
      items
        .map(
          ({ external_id, text, metadata, expires_at }) =>
            `${losslessJson({ external_id, ...(text === null || text === undefined ? {} : { text }), metadata, ...(expires_at === undefined ? {} : { expires_at }) })}\n`,
        )
        .join(''),
    );
    this.rows += items.length;
  }

  async finish(): Promise<void> {
    await this.vectors.write(headOf(this.rows, this.dim), 0, HEAD_BYTES, 0);
    await this.close();
    renameSync(partOf(itemsPathOf(this.path)), itemsPathOf(this.path));
    renameSync(partOf(this.path), this.path);
  }

  async abandon(): Promise<void> {
    await this.close();
    for (const path of [this.path, itemsPathOf(this.path)]) rmSync(partOf(path), { force: true });
  }

  private async close(): Promise<void> {
    await Promise.all([this.vectors.close(), this.items.close()]);
  }
}

/** Version 1.0: the magic number, the length of the text, and a line of Python padded with blanks. */
function headOf(rows: number, dim: number): Buffer {
  const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${rows}, ${dim}), }`;
  const head = Buffer.alloc(HEAD_BYTES, ' ');
  head.write('\u0093NUMPY\u0001\u0000', 0, 'latin1');
  head.writeUInt16LE(HEAD_BYTES - 10, 8);
  head.write(text, 10, 'latin1');
  head.write('\n', HEAD_BYTES - 1, 'latin1');
  return head;
}
