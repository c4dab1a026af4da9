import type { Data, DataType, Message, RecordBatch } from 'apache-arrow';

type ArrowLibrary = typeof import('apache-arrow');

/** Rows of columns that take no bytes, as those of nothing but nulls: nothing else says how many are too many. */
const EMPTY_ROWS_MAX = 1 << 24;
/** The fewest bytes of so many values. */
const VALUES_PER_BYTE = 8;
/** A run of 128 KiB takes four bytes in Zstandard. */
const COMPRESSION_MAX = 1 << 15;
const VIEW_BYTES = 16;
/** A text that is not longer stands in its view. */
const INLINE_BYTES = 12;

/** What the head of a batch says. */
export interface BatchHead {
  length: number;
  nodes: readonly { length: number; nullCount: number }[];
  buffers: readonly { offset: number; length: number }[];
  compression: unknown;
}

/**
 * Checks how many rows and values a batch would have: columns that are shorter than the batch are made longer as it is
 * read. Throws a RangeError.
 */
export function checkBatchHead(message: Message): void {
  if (!message.isRecordBatch() && !message.isDictionaryBatch()) return;
  const header = message.header() as unknown as BatchHead & { data?: BatchHead };
  const { length, nodes, buffers, compression } = header.data ?? header;
  // Each has bytes of its own: otherwise few could stand for very many.
  if (buffers.reduce((sum, each) => sum + each.length, 0) > message.bodyLength)
    throw new RangeError(`the columns of a batch would have more than its ${message.bodyLength} bytes`);
  const factor = compression === null || compression === undefined ? 1 : COMPRESSION_MAX;
  const most = Math.max(EMPTY_ROWS_MAX, message.bodyLength * VALUES_PER_BYTE * factor);
  for (const { length: count, nullCount } of [{ length, nullCount: 0 }, ...nodes])
    if (!(count >= 0 && count <= most && nullCount >= 0 && nullCount <= count))
      throw new RangeError(
        `a batch of ${message.bodyLength} bytes would have ${count} values, ${nullCount} of them null`,
      );
}

/** Checks the columns of a batch, see {@link ColumnCheck}. */
export function checkBatch(check: ColumnCheck, batch: RecordBatch): void {
  for (const column of batch.data.children) check.check(column, batch.numRows);
  if (batch.data.children.length === 0 && batch.numRows > 0) throw new RangeError('it has rows, but no column');
}

/**
 * Checks that a column has the values that it says: every length, offset and index is within the buffers. The library
 * does not look, and would answer rows that there are not, or texts of other rows. Throws a RangeError.
 */
export class ColumnCheck {
  private readonly checked = new WeakSet<object>();

  constructor(private readonly arrow: ArrowLibrary) {}

  /** `rows`: at least so many values. */
  check(data: Data, rows: number): void {
    const { type, length } = data;
    if (!(length >= rows && Number.isSafeInteger(length)))
      throw new RangeError(`a column has ${length} values for ${rows} rows`);
    const { DataType: kinds } = this.arrow;
    // These have no bitmap of their own.
    if (!kinds.isNull(type) && !kinds.isUnion(type) && data.nullCount > 0)
      need(data.nullBitmap?.length ?? 0, Math.ceil(length / 8));
    this.values(data, type, length);
  }

  private values(data: Data, type: DataType, length: number): void {
    const kinds = this.arrow.DataType;
    const { values } = data as { values?: ArrayLike<unknown> };
    if (kinds.isNull(type)) {
      if (length > EMPTY_ROWS_MAX) throw new RangeError(`${length} rows that take no bytes`);
    } else if (kinds.isBool(type)) need(values?.length ?? 0, Math.ceil(length / 8));
    else if (kinds.isDictionary(type)) this.dictionary(data, values, length);
    else if (kinds.isUtf8View(type) || kinds.isBinaryView(type)) this.views(data, length);
    else if (kinds.isUtf8(type) || kinds.isBinary(type) || kinds.isLargeUtf8(type) || kinds.isLargeBinary(type))
      this.offsets(data, length, values?.length ?? 0);
    else if (kinds.isList(type) || kinds.isMap(type) || kinds.isLargeList(type)) {
      this.offsets(data, length, data.children[0]?.length ?? 0);
      this.check(data.children[0], 0);
    } else if (kinds.isFixedSizeList(type)) {
      if (!(type.listSize >= 0)) throw new RangeError(`a list of ${type.listSize} values`);
      this.check(data.children[0], length * type.listSize);
    } else if (kinds.isStruct(type)) {
      if (type.children.length === 0 && length > EMPTY_ROWS_MAX)
        throw new RangeError(`${length} rows that take no bytes`);
      for (const child of data.children) this.check(child, length);
    } else if (kinds.isUnion(type)) this.union(data, length);
    else need(values?.length ?? 0, length * data.stride);
  }

  private dictionary(data: Data, indices: ArrayLike<unknown> | undefined, length: number): void {
    need(indices?.length ?? 0, length);
    const dictionary = data.dictionary;
    if (dictionary === undefined) {
      if (length > data.nullCount) throw new RangeError('a column has no dictionary');
      return;
    }
    // Pieces are put behind others: before one that was looked at, there are only such.
    for (let i = dictionary.data.length - 1; i >= 0 && !this.checked.has(dictionary.data[i]); i--) {
      this.check(dictionary.data[i], 0);
      this.checked.add(dictionary.data[i]);
    }
    for (let i = 0; i < length; i++) {
      const index = Number((indices as ArrayLike<unknown>)[i]);
      if (!(index >= 0 && index < dictionary.length) && data.getValid(i))
        throw new RangeError('an index is beyond its dictionary');
    }
  }

  /** Each value begins where the one before ends. */
  private offsets(data: Data, length: number, room: number): void {
    if (length === 0) return;
    const offsets = data.valueOffsets as ArrayLike<number | bigint> | undefined;
    need(offsets?.length ?? 0, length + 1);
    let last = 0;
    for (let i = 0; i <= length; i++) {
      const offset = Number((offsets as ArrayLike<number | bigint>)[i]);
      if (!(offset >= last && offset <= room)) throw new RangeError('a value is outside of its column');
      last = offset;
    }
  }

  private views(data: Data, length: number): void {
    const { values: views, variadicBuffers = [] } = data as unknown as {
      values: Uint8Array;
      variadicBuffers?: readonly Uint8Array[];
    };
    need(views?.byteLength ?? 0, length * VIEW_BYTES);
    const view = new DataView(views.buffer, views.byteOffset, views.byteLength);
    for (let i = 0; i < length; i++) {
      const at = i * VIEW_BYTES;
      const bytes = view.getInt32(at, true);
      if (bytes <= INLINE_BYTES && bytes >= 0) continue;
      const [buffer, offset] = [view.getInt32(at + 8, true), view.getInt32(at + 12, true)];
      const isWithin = bytes >= 0 && offset >= 0 && offset + bytes <= (variadicBuffers[buffer]?.byteLength ?? -1);
      if (!isWithin && data.getValid(i)) throw new RangeError('a value is outside of its column');
    }
  }

  private union(data: Data, length: number): void {
    const { typeIds, valueOffsets, children, type } = data as Data & {
      type: { typeIdToChildIndex: Record<number, number>; mode: number };
    };
    need(typeIds?.length ?? 0, length);
    const isDense = type.mode === this.arrow.UnionMode.Dense;
    if (isDense) need(valueOffsets?.length ?? 0, length);
    for (const child of children) this.check(child, isDense ? 0 : length);
    for (let i = 0; i < length; i++) {
      const child = children[type.typeIdToChildIndex[typeIds[i]]];
      if (child === undefined) throw new RangeError('a value is of no type of its union');
      if (isDense && !(valueOffsets[i] >= 0 && valueOffsets[i] < child.length))
        throw new RangeError('a value is outside of its column');
    }
  }
}

function need(given: number, needed: number): void {
  if (!(given >= needed)) throw new RangeError(`a column has ${given} of the ${needed} values that it should have`);
}
