import { type FileHandle, open } from 'node:fs/promises';
import type { FileMetaData, SchemaTree } from 'hyparquet' with { 'resolution-mode': 'import' };
import { CommandError, EXIT_CODES } from '../../command-error';
import { HeldPages } from './held-pages';
import { type ColumnCursor, type ColumnReader, openColumn } from './parquet-column';
import { noteDurations } from './parquet-durations';
import { groupChunks, loadParquet, type ParquetLibrary, readParquetMetadata } from './parquet-file';
import { type RangeIndex, rangeIndexes } from './pandas-index';
import { CHUNK_ROWS, chunkRows, type KnownFields, type RecordChunk, type RecordSource } from '../record-source';

interface ParquetCursor {
  row: number;
  /**
   * Where each column goes on in the row group of that row; a column that is not here is read from the group's
   * beginning.
   */
  columns: Record<string, ColumnCursor>;
}

/** A Parquet file, read page by page: a row group may have any size. */
export class ParquetSource implements RecordSource {
  readonly known: KnownFields = {};
  readonly hasTextOnly = false;
  readonly columns: string[];
  readonly rows: number;
  private readonly indexes: RangeIndex[];

  private constructor(
    private readonly path: string,
    private readonly library: ParquetLibrary,
    private readonly file: FileHandle,
    private readonly metadata: FileMetaData,
    private readonly root: SchemaTree,
  ) {
    const columns = root.children.map(({ element }) => element.name);
    this.indexes = rangeIndexes(metadata, columns);
    this.columns = [...columns, ...this.indexes.map(({ name }) => name)];
    this.rows = Number(metadata.num_rows);
  }

  static async open(path: string): Promise<ParquetSource> {
    const library = await loadParquet();
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      const metadata = await readParquetMetadata(library, file, size);
      const root = library.parquetSchema(metadata);
      await noteDurations(metadata, root);
      return new ParquetSource(path, library, file, metadata, root);
    } catch (error) {
      await file.close();
      // The library stumbles over parts that are not there.
      const reason =
        error instanceof TypeError ? 'what is said of its columns at its end is damaged' : (error as Error).message;
      throw new CommandError(`${path} is no Parquet file that can be read: ${reason}`, EXIT_CODES.usage, {
        cause: error,
      });
    }
  }

  async *read(cursor: unknown, wanted: ReadonlySet<string> | null): AsyncGenerator<RecordChunk> {
    const start = (cursor as ParquetCursor | null) ?? { row: 0, columns: {} };
    const columns = this.root.children.filter(({ element }) => wanted === null || wanted.has(element.name));
    const indexes = this.indexes.filter(({ name }) => wanted === null || wanted.has(name));
    // Whether there are as many rows as is said, only a column tells.
    const read = columns.length > 0 ? columns : this.root.children.slice(0, 1);
    try {
      let groupStart = 0;
      for (let group = 0; group < this.metadata.row_groups.length; group++) {
        const groupRows = Number(this.metadata.row_groups[group].num_rows);
        if (groupStart + groupRows > start.row)
          yield* this.readGroup({ group, groupStart, groupRows, read, columns, indexes, start });
        groupStart += groupRows;
      }
    } catch (error) {
      throw error instanceof CommandError
        ? error
        : new CommandError(`${this.path} can't be read: ${(error as Error).message}`, EXIT_CODES.failed, {
            cause: error,
          });
    } finally {
      await this.file.close();
    }
  }

  private async *readGroup(parts: {
    group: number;
    groupStart: number;
    groupRows: number;
    read: SchemaTree[];
    columns: SchemaTree[];
    indexes: RangeIndex[];
    start: ParquetCursor;
  }): AsyncGenerator<RecordChunk> {
    const { library, file, metadata, root } = this;
    const { group, groupStart, groupRows, read, columns, indexes, start } = parts;
    if (read.length === 0) throw new CommandError(`${this.path} is damaged: it has rows, but no column`);
    const rowsBehind = Math.max(0, start.row - groupStart);
    const readers: ColumnReader[] = [];
    const chunks = groupChunks(metadata.row_groups[group]);
    const pages = new HeldPages(this.path);
    for (const column of read) {
      const cursor = rowsBehind === 0 ? undefined : start.columns[column.element.name];
      const reader = await openColumn({
        library,
        file,
        name: this.path,
        metadata,
        root,
        group,
        chunks,
        columns: read.length,
        pages,
        column,
        cursor,
      });
      if (!cursor && rowsBehind > 0) await passOver(reader, rowsBehind);
      readers.push(reader);
    }
    for (let row = rowsBehind; row < groupRows;) {
      let rows = Math.min(chunkRows(columns.length), groupRows - row);
      for (const reader of readers) rows = Math.min(rows, await reader.ready());
      const values: unknown[][] = [];
      for (const reader of readers) values.push(await reader.take(rows));
      const records = Array.from({ length: rows }, (_, i) => {
        // A column may have any name, as __proto__.
        const fields = Object.fromEntries(columns.map(({ element }, c) => [element.name, values[c][i]]));
        const number = groupStart + row + i;
        for (const { name, start: first, step } of indexes) fields[name] = first + number * step;
        return { fields, number };
      });
      row += rows;
      const marks = read
        .map(({ element }, c): [string, ColumnCursor | undefined] => [element.name, readers[c].cursor()])
        .filter((entry): entry is [string, ColumnCursor] => entry[1] !== undefined);
      const next: ParquetCursor = {
        row: groupStart + row,
        columns: row === groupRows ? {} : Object.fromEntries(marks),
      };
      yield {
        records,
        unreadable: [],
        place: 'row',
        idPrefix: '',
        cursor: next,
        share: (groupStart + row) / this.rows,
      };
    }
  }
}

async function passOver(reader: ColumnReader, rows: number): Promise<void> {
  for (let left = rows; left > 0; left -= CHUNK_ROWS) await reader.take(Math.min(CHUNK_ROWS, left));
}
