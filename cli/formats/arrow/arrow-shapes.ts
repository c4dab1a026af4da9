import type { TableShape } from './flatbuffer-check';

/**
 * What messages and the footer of Arrow's IPC format point to, after https://github.com/apache/arrow/tree/main/format
 * (Schema.fbs, Message.fbs, File.fbs).
 */

const TIMESTAMP = 10;
const UNION = 14;
const [SCHEMA, DICTIONARY_BATCH, RECORD_BATCH] = [1, 2, 3];

const PAIR_BYTES = 16;
const BLOCK_BYTES = 24;
const LONG_BYTES = 8;
const INT_BYTES = 4;

const numbersOnly: TableShape = () => ({});
const keyValue: TableShape = () => ({ 0: 'text', 1: 'text' });
const dictionaryEncoding: TableShape = () => ({ 1: { table: numbersOnly } });
const timestamp: TableShape = () => ({ 1: 'text' });
const union: TableShape = () => ({ 1: { listOf: INT_BYTES } });
const typeShape = (kind: number): TableShape => (kind === TIMESTAMP ? timestamp : kind === UNION ? union : numbersOnly);
const field: TableShape = () => ({
  0: 'text',
  3: { oneOf: typeShape },
  4: { table: dictionaryEncoding },
  5: { tables: field },
  6: { tables: keyValue },
});
const schema: TableShape = () => ({ 1: { tables: field }, 2: { tables: keyValue }, 3: { listOf: LONG_BYTES } });
const recordBatch: TableShape = () => ({
  1: { listOf: PAIR_BYTES },
  2: { listOf: PAIR_BYTES },
  3: { table: numbersOnly },
  4: { listOf: LONG_BYTES },
});
const dictionaryBatch: TableShape = () => ({ 1: { table: recordBatch } });
const headerShape = (kind: number): TableShape | null =>
  ({ [SCHEMA]: schema, [DICTIONARY_BATCH]: dictionaryBatch, [RECORD_BATCH]: recordBatch })[kind] ?? null;

export const messageShape: TableShape = () => ({ 2: { oneOf: headerShape }, 4: { tables: keyValue } });

/**
 * The footer of a file of `size` bytes. Each of its messages has bytes of its own: otherwise few could stand for very
 * many.
 */
export function footerShape(size: number): TableShape {
  let left = size;
  const check = (view: DataView, at: number, count: number): void => {
    for (let i = 0; i < count; i++) {
      const place = at + i * BLOCK_BYTES;
      const [offset, head, body] = [
        Number(view.getBigInt64(place, true)),
        view.getInt32(place + 8, true),
        Number(view.getBigInt64(place + 16, true)),
      ];
      if (!(offset >= 0 && head > 0 && body >= 0 && offset + head + body <= size))
        throw new RangeError('a batch would be outside of the file');
      left -= head + body;
      if (left < 0) throw new RangeError('its batches would have more bytes than it has');
    }
  };
  return () => ({
    1: { table: schema },
    2: { listOf: BLOCK_BYTES, check },
    3: { listOf: BLOCK_BYTES, check },
    4: { tables: keyValue },
  });
}
