import type { FileHandle } from 'node:fs/promises';
import type { FileMetaData, SchemaElement, SchemaTree } from 'hyparquet' with { 'resolution-mode': 'import' };
import { CommandError } from '../../command-error';
import type { HeldPages } from './held-pages';
import {
  chunkPosition,
  type DecodedPage,
  type GroupChunks,
  PageReader,
  parsersOf,
  type ParquetLibrary,
  pathOf,
  sliceOf,
} from './parquet-file';
import { isLeftToLibrary, nestedConverterOf, storedTree } from './parquet-values';
import { shortestFloat } from '../table-values';

/**
 * A place in a column chunk: a page that begins with a row, and how many of its rows are behind. Null: the beginning.
 */
export type ColumnCursor = [offset: number, rows: number] | null;

/** Values of one column of a row group, row after row. */
export interface ColumnReader {
  /** The next rows, exactly so many. */
  take(rows: number): Promise<unknown[]>;
  /** How many of the next rows are in memory, at least one: more of them would be held beside these. */
  ready(): Promise<number>;
  /** Where reading can go on; undefined: only from the beginning of the group, by `take`. */
  cursor(): ColumnCursor | undefined;
}

/** Nested columns are read whole, a row group at a time; larger ones would not fit. */
const NESTED_BYTES_MAX = 512 << 20;
/** Of one list, which may go over any number of pages: as many as a page may have. */
const LIST_VALUES_MAX = 4 << 20;

/** The leaf of a column whose values are single, or lists of one level; null for any other shape. */
function plainPath(column: SchemaTree): SchemaTree[] | null {
  const path: SchemaTree[] = [];
  let node = column;
  for (;;) {
    path.push(node);
    if (node.children.length === 0) break;
    if (node.children.length > 1) return null;
    node = node.children[0];
  }
  const lists = path.filter(({ element }) => element.repetition_type === 'REPEATED').length;
  const at = path.findIndex(({ element }) => element.repetition_type === 'REPEATED');
  // Above the list there is its group alone, and below it its element: what is more is an object, or a field of one.
  if (lists === 1 && (at > 1 || (at === 1 && !isListGroup(path[0])) || path.length - at > 2)) return null;
  // A group without a list is a struct, which is answered as an object.
  return lists > 1 || (lists === 0 && path.length > 1) ? null : path;
}

/** Whether a group says that it is a list, by either of the ways that there are. */
function isListGroup({ element }: SchemaTree): boolean {
  return element.converted_type === 'LIST' || element.logical_type?.type === 'LIST';
}

export async function openColumn(parts: {
  library: ParquetLibrary;
  file: FileHandle;
  name: string;
  metadata: FileMetaData;
  root: SchemaTree;
  group: number;
  chunks: GroupChunks;
  /** How many columns are read side by side. */
  columns: number;
  /** What these hold. */
  pages: HeldPages;
  column: SchemaTree;
  cursor: ColumnCursor | undefined;
}): Promise<ColumnReader> {
  const { library, file, name, root, group, chunks, columns, pages, column, cursor } = parts;
  const path = plainPath(column);
  if (path === null) return new NestedColumn(parts);
  const { size } = await file.stat();
  const reader = new PlainColumn(
    new PageReader(library, file, name, chunkPosition(library, chunks, group, [root, ...path], size), columns, pages),
    [root, ...path],
  );
  if (cursor) await reader.seek(cursor);
  return reader;
}

/** Single values and lists of one level, a page in memory at a time. */
class PlainColumn implements ColumnReader {
  private readonly maxLevel: number;
  /** Level from which on a list has an element at that place; 0 for single values. */
  private readonly elementLevel: number;
  private rows: unknown[] = [];
  private taken = 0;
  private rowsFrom: { offset: number; startsRow: boolean; carried: number } | null = null;
  /** A list that may go on in the next page. */
  private partial: unknown[] | ArrayLike<unknown> | null = null;
  private hasPartial = false;
  private isOver = false;

  constructor(
    private readonly pages: PageReader,
    path: SchemaTree[],
  ) {
    let level = 0;
    let elementLevel = 0;
    for (const { element } of path.slice(1)) {
      if (element.repetition_type !== 'REQUIRED') level += 1;
      if (element.repetition_type === 'REPEATED') elementLevel = level;
    }
    this.maxLevel = level;
    this.elementLevel = elementLevel;
  }

  async seek([offset, rows]: [number, number]): Promise<void> {
    await this.pages.seek(offset);
    await this.take(rows);
  }

  async take(count: number): Promise<unknown[]> {
    const result: unknown[] = [];
    while (result.length < count) {
      if (this.taken === this.rows.length) await this.nextRows();
      const rows = Math.min(count - result.length, this.rows.length - this.taken);
      for (let i = 0; i < rows; i++) result.push(this.rows[this.taken + i]);
      this.taken += rows;
    }
    return result;
  }

  async ready(): Promise<number> {
    if (this.taken === this.rows.length) await this.nextRows();
    return this.rows.length - this.taken;
  }

  cursor(): ColumnCursor | undefined {
    if (this.rowsFrom === null) return null;
    const { offset, startsRow, carried } = this.rowsFrom;
    return startsRow && this.taken >= carried ? [offset, this.taken - carried] : undefined;
  }

  private async nextRows(): Promise<void> {
    do {
      if (this.isOver) throw new CommandError('a column has fewer rows than its row group says');
      const page = await this.pages.next();
      this.rows = [];
      this.taken = 0;
      if (page === null) {
        this.isOver = true;
        if (this.hasPartial) this.rows.push(this.partial);
        this.hasPartial = false;
        continue;
      }
      // A row of the page before that ends with it is the first of these.
      const startsRow = page.repetitionLevels.length === 0 || page.repetitionLevels[0] === 0;
      this.rowsFrom = { offset: page.offset, startsRow, carried: startsRow && this.hasPartial ? 1 : 0 };
      if (this.elementLevel === 0) this.rows = this.singles(page);
      else this.lists(page);
    } while (this.rows.length === 0);
  }

  private singles({ values, definitionLevels }: DecodedPage): unknown[] {
    if (definitionLevels.length === 0) return Array.from(values);
    let next = 0;
    return Array.from(definitionLevels, (level) => (level === this.maxLevel ? values[next++] : null));
  }

  private lists({ values, definitionLevels, repetitionLevels }: DecodedPage): void {
    const entries = repetitionLevels.length;
    if (values.length === entries) {
      // No null and no empty list: rows are runs of the values, which stay where they are.
      let from = 0;
      for (let i = repetitionLevels.indexOf(0); i !== -1; i = repetitionLevels.indexOf(0, i + 1)) {
        this.append(values, from, i);
        this.begin();
        from = i;
      }
      this.append(values, from, entries);
      return;
    }
    let next = 0;
    for (let i = 0; i < entries; i++) {
      if (repetitionLevels[i] === 0) this.begin();
      const level = definitionLevels[i];
      if (level >= this.elementLevel) this.append([level === this.maxLevel ? meant(values, next++) : null], 0, 1);
      else this.partial = level === this.elementLevel - 1 ? [] : null;
    }
  }

  /** A row begins: the one before is whole. */
  private begin(): void {
    if (this.hasPartial) this.rows.push(this.partial);
    this.partial = [];
    this.hasPartial = true;
  }

  private append(values: ArrayLike<unknown>, from: number, to: number): void {
    if (from === to) return;
    const length = this.partial?.length ?? 0;
    if (length + to - from > LIST_VALUES_MAX) throw new CommandError(`a list has more than ${LIST_VALUES_MAX} values`);
    if (this.partial === null || length === 0) {
      this.partial = ArrayBuffer.isView(values)
        ? (values as Float32Array).subarray(from, to)
        : (values as unknown[]).slice(from, to);
      return;
    }
    // A list that is no typed array is nobody else's.
    const list = Array.isArray(this.partial) ? this.partial : Array.from(this.partial);
    for (let i = from; i < to; i++) list.push(values[i]);
    this.partial = list;
  }
}

/** A value of a list beside which one is missing, so that it is in no typed array. */
function meant(values: ArrayLike<unknown>, i: number): unknown {
  return values instanceof Float32Array ? shortestFloat(values[i]) : values[i];
}

/** Structs, maps and lists of lists: put together by the library, from the column of one row group. */
class NestedColumn implements ColumnReader {
  private rows: unknown[] | null = null;
  private taken = 0;

  constructor(private readonly parts: Parameters<typeof openColumn>[0]) {}

  async ready(): Promise<number> {
    this.rows ??= await this.load();
    return Math.max(1, this.rows.length - this.taken);
  }

  async take(count: number): Promise<unknown[]> {
    this.rows ??= await this.load();
    const rows = this.rows.slice(this.taken, this.taken + count);
    if (rows.length < count) throw new CommandError('a column has fewer rows than its row group says');
    this.taken += count;
    return rows;
  }

  cursor(): undefined {
    return undefined;
  }

  private async load(): Promise<unknown[]> {
    const { library, file, name, metadata, root, group, chunks, columns, pages, column } = this.parts;
    const { size } = await file.stat();
    let bytes = 0;
    const leaves = leavesOf(column, [root]);
    for (const path of leaves)
      bytes += await new PageReader(
        library,
        file,
        name,
        chunkPosition(library, chunks, group, path, size),
        columns,
        pages,
      ).check(NESTED_BYTES_MAX - bytes);
    if (bytes > NESTED_BYTES_MAX)
      throw new CommandError(
        `column "${column.element.name}" is nested and has more than ${NESTED_BYTES_MAX >> 20} MiB in one row group; leave it out with --metadata, or write smaller row groups`,
      );
    pages.hold(this, bytes);
    const slice = sliceOf(file, size);
    let rows: Record<string, unknown>[] = [];
    const isWhole = isLeftToLibrary(column);
    const stored = storedTree(column);
    const rowGroup = metadata.row_groups[group];
    const elements = elementsOf(column);
    // Of this column and group alone: the library goes through all that there is.
    const own: FileMetaData = {
      ...metadata,
      schema: [
        { ...root.element, num_children: 1 },
        ...(isWhole ? elements : elements.map((element) => stored.get(element) ?? element)),
      ],
      row_groups: [{ ...rowGroup, columns: leaves.flatMap((path) => chunks.get(pathOf(path)) ?? []) }],
      num_rows: rowGroup.num_rows,
    };
    await library.parquetRead({
      file: { byteLength: size, slice },
      metadata: own,
      parsers: parsersOf(library),
      utf8: false,
      columns: [column.element.name],
      rowStart: 0,
      rowEnd: Number(rowGroup.num_rows),
      rowFormat: 'object',
      compressors: library.compressors,
      onComplete: (found) => (rows = found as Record<string, unknown>[]),
    });
    if (isWhole) return rows.map((row) => row[column.element.name]);
    const convert = nestedConverterOf(column);
    return rows.map((row) => convert(row[column.element.name]));
  }
}

/** A column's part of the schema, in its order. */
function elementsOf({ element, children }: SchemaTree): SchemaElement[] {
  return [element, ...children.flatMap(elementsOf)];
}

/** The paths from the root to what has values. */
function leavesOf(node: SchemaTree, above: readonly SchemaTree[]): SchemaTree[][] {
  const path = [...above, node];
  return node.children.length === 0 ? [path] : node.children.flatMap((child) => leavesOf(child, path));
}
