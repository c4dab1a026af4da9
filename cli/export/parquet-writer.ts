import { renameSync, rmSync } from 'node:fs';
import type { ParquetWriter, Writer } from 'hyparquet-writer' with { 'resolution-mode': 'import' };
import { losslessJson } from '../formats/json/lossless-json';
import { type ExportedItem, type ItemWriter, partOf } from './item-writer';

/** Floats of a row group, or rows when vectors are short: memory holds one group. */
const GROUP_FLOATS_MAX = 2_000_000;
const GROUP_ROWS_MAX = 50_000;

/** Columns external_id, vector (a list of floats), text, metadata as JSON, and expires_at, which import puts back. */
export class ParquetItemWriter implements ItemWriter {
  readonly wantsNumbers = false;
  private held: ExportedItem[] = [];
  private readonly groupRows: number;

  private constructor(
    private readonly path: string,
    private readonly writer: ParquetWriter,
    private readonly hasVectors: boolean,
    dim: number,
  ) {
    this.groupRows = Math.max(100, Math.min(GROUP_ROWS_MAX, Math.floor(GROUP_FLOATS_MAX / dim)));
  }

  static async open(
    path: string,
    { dim, hasVectors }: { dim: number; hasVectors: boolean },
  ): Promise<ParquetItemWriter> {
    const { ParquetWriter: Library, fileWriter } = await import('hyparquet-writer');
    const writer = new Library({
      writer: fileWriter(partOf(path)) as Writer,
      // Random-looking floats don't become smaller by Snappy, but the texts do.
      codec: 'SNAPPY',
      statistics: false,
      createdBy: 'quiver',
      schema: [
        { name: 'root', num_children: hasVectors ? 5 : 4 },
        { name: 'external_id', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
        ...(hasVectors
          ? ([
              { name: 'vector', repetition_type: 'REQUIRED', num_children: 1, converted_type: 'LIST' },
              { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
              { name: 'element', type: 'FLOAT', repetition_type: 'REQUIRED' },
            ] as const)
          : []),
        { name: 'text', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
        { name: 'metadata', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
        { name: 'expires_at', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
      ],
    });
    return new ParquetItemWriter(path, writer, hasVectors, dim);
  }

  async write(items: ExportedItem[]): Promise<void> {
    this.held.push(...items);
    while (this.held.length >= this.groupRows) await this.writeGroup(this.held.splice(0, this.groupRows));
  }

  async finish(): Promise<void> {
    if (this.held.length > 0) await this.writeGroup(this.held);
    await this.writer.finish();
    renameSync(partOf(this.path), this.path);
  }

  async abandon(): Promise<void> {
    rmSync(partOf(this.path), { force: true });
  }

  private async writeGroup(items: ExportedItem[]): Promise<void> {
    await this.writer.write({
      rowGroupSize: items.length,
      columnData: [
        { name: 'external_id', data: items.map(({ external_id }) => external_id) },
        ...(this.hasVectors
          ? [
              {
                name: 'vector',
                data: items.map(({ vector }) => Array.from(vector ?? [])),
                encoding: 'PLAIN' as const,
                codec: 'UNCOMPRESSED' as const,
              },
            ]
          : []),
        { name: 'text', data: items.map(({ text }) => text ?? null) },
        { name: 'metadata', data: items.map(({ metadata }) => losslessJson(metadata)) },
        { name: 'expires_at', data: items.map(({ expires_at }) => expires_at ?? null) },
      ],
    });
  }
}
