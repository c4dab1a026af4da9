import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Files that are well-formed, and have so many parts that a reader which believes them runs out of memory or time. */

/** How many parts, and the file. */
export type OversizedFile = (count: number) => Buffer;

const CORPUS = join(__dirname, '..', 'corpus', 'imports');

const STRUCT = 12;
const BINARY = 8;

const bytes = (...values: number[]): Buffer => Buffer.from(values);
const repeated = (piece: Buffer, count: number): Buffer => Buffer.alloc(piece.length * count, piece);

function varint(number: number): Buffer {
  const digits: number[] = [];
  let rest = number;
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) digits.push((rest % 128) | 0x80);
  return bytes(...digits, rest);
}

/** The head of a list in Thrift's compact protocol. */
const list = (type: number, count: number): Buffer => Buffer.concat([bytes(0xf0 | type), varint(count)]);
const text = (value: string): Buffer => Buffer.concat([varint(value.length), Buffer.from(value)]);

/** An element of a schema: a group of `children`, or a column of numbers. */
const group = (name: string, children: number): Buffer =>
  Buffer.concat([bytes(0x48), text(name), bytes(0x15), varint(children * 2), bytes(0)]);
const column = (name: string): Buffer => Buffer.concat([bytes(0x15, 2, 0x25, 0, 0x18), text(name), bytes(0)]);
const chunk = Buffer.concat([
  bytes(0x26, 0, 0x1c, 0x15, 2, 0x19, 0x15, 0, 0x19, 0x18),
  text('abc'),
  bytes(0x15, 0, 0x16, 0, 0x16, 0, 0x16, 0, 0x26, 0, 0, 0),
]);

/** Elements and row groups, by their number, and key-value notes. */
function parquet(
  elements: [Buffer, number],
  groups: [Buffer, number],
  { notes = Buffer.alloc(0), pages = Buffer.alloc(0) } = {},
): Buffer {
  const schema = Buffer.concat([bytes(0x15, 2, 0x19), list(STRUCT, elements[1]), elements[0]]);
  const rest = Buffer.concat([bytes(0x16, 0, 0x19), list(STRUCT, groups[1]), groups[0], notes, bytes(0)]);
  const end = Buffer.alloc(8);
  end.writeUInt32LE(schema.length + rest.length, 0);
  end.write('PAR1', 4);
  return Buffer.concat([Buffer.from('PAR1'), pages, schema, rest, end]);
}

const oneColumn: [Buffer, number] = [Buffer.concat([group('r', 1), column('abc')]), 2];
const groupOf = (count: number, chunks: Buffer, rows = 0): Buffer =>
  Buffer.concat([bytes(0x19), list(STRUCT, count), chunks, bytes(0x16, 0, 0x16), varint(rows * 2), bytes(0)]);

const PAGE_ROWS = 200_000;

/** Columns of truth values, all of them in one page that is a run, which they share. */
function widePages(columns: number): Buffer {
  const run = Buffer.concat([varint(PAGE_ROWS * 2), bytes(1)]);
  const values = Buffer.concat([Buffer.from(Uint32Array.of(run.length).buffer), run]);
  const size = varint(values.length * 2);
  const head = Buffer.concat([
    bytes(0x15, 0, 0x15),
    size,
    bytes(0x15),
    size,
    bytes(0x2c, 0x15),
    varint(PAGE_ROWS * 2),
    bytes(0x15, 6, 0x15, 6, 0x15, 6, 0, 0),
  ]);
  const pages = Buffer.concat([head, values]);
  const total = varint(pages.length * 2);
  const place = Buffer.concat([
    bytes(0x26, 0, 0x1c, 0x15, 0, 0x19, 0x15, 0, 0x19, 0x18),
    text('abc'),
    bytes(0x15, 0, 0x16),
    varint(PAGE_ROWS * 2),
    bytes(0x16),
    total,
    bytes(0x16),
    total,
    bytes(0x26, 8, 0, 0),
  ]);
  const truth = Buffer.concat([bytes(0x15, 0, 0x25, 0, 0x18), text('abc'), bytes(0)]);
  return parquet(
    [Buffer.concat([group('r', columns), repeated(truth, columns)]), columns + 1],
    [groupOf(columns, repeated(place, columns), PAGE_ROWS), 1],
    { pages },
  );
}

/** Three rows of a dictionary, whose last piece comes so many times. */
function deltas(pieces: number): Buffer {
  const stream = readFileSync(join(CORPUS, 'deltas.arrows'));
  const starts: number[] = [];
  for (let at = 0; at < stream.length; at += 8) if (stream.readUInt32LE(at) === 0xffffffff) starts.push(at);
  const [, , , last, row] = starts;
  return Buffer.concat([stream.subarray(0, last), repeated(stream.subarray(last, row), pieces), stream.subarray(row)]);
}

/** A table of FlatBuffers that is a message: `header` of a kind begins behind its 40 bytes. */
function message(kind: number, header: Buffer, bodyBytes: number): Buffer {
  const head = Buffer.alloc(40);
  head.writeUInt32LE(16, 0);
  for (const [i, value] of [12, 24, 4, 6, 8, 16].entries()) head.writeUInt16LE(value, 4 + 2 * i);
  head.writeInt32LE(12, 16);
  head.writeInt16LE(4, 20);
  head.writeUInt8(kind, 22);
  // The table of the header is 16 bytes behind the beginning of its own.
  head.writeUInt32LE(40 + 16 - 24, 24);
  head.writeBigInt64LE(BigInt(bodyBytes), 32);
  const whole = Buffer.concat([head, header]);
  const length = Math.ceil(whole.length / 8) * 8;
  const prefix = Buffer.alloc(8);
  prefix.writeUInt32LE(0xffffffff, 0);
  prefix.writeInt32LE(length, 4);
  return Buffer.concat([prefix, whole, Buffer.alloc(length - whole.length)]);
}

/** A batch without rows, of so many nodes and buffers that are empty. */
function batch(nodes: number, buffers: number): Buffer {
  const head = Buffer.alloc(48);
  for (const [i, value] of [10, 20, 8, 4, 16].entries()) head.writeUInt16LE(value, 2 * i);
  head.writeInt32LE(16, 16);
  const nodesAt = 44;
  const buffersAt = nodesAt + 4 + 16 * nodes + 4;
  head.writeUInt32LE(nodesAt - 20, 20);
  head.writeUInt32LE(buffersAt - 32, 32);
  head.writeUInt32LE(nodes, nodesAt);
  const tail = Buffer.alloc(buffersAt + 4 - 48 + 16 * buffers);
  tail.writeUInt32LE(buffers, buffersAt - 48);
  return message(3, Buffer.concat([head, tail]), 0);
}

/** A schema of so many columns, which share one table. */
function schema(columns: number): Buffer {
  const head = Buffer.alloc(28);
  for (const [i, value] of [8, 8, 0, 4].entries()) head.writeUInt16LE(value, 2 * i);
  head.writeInt32LE(16, 16);
  head.writeUInt32LE(4, 20);
  head.writeUInt32LE(columns, 24);
  // Behind the list: the fields of a field, at a place that is a whole number of words, then the field, its type, its
  // name.
  const fieldAt = 28 + 4 * columns + 16;
  const places = Buffer.alloc(4 * columns);
  for (let i = 0; i < columns; i++) places.writeUInt32LE(fieldAt - (28 + 4 * i), 4 * i);
  const tail = Buffer.alloc(16 + 16 + 8 + 12 + 8);
  for (const [i, value] of [12, 16, 4, 0, 8, 12].entries()) tail.writeUInt16LE(value, 2 * i);
  tail.writeInt32LE(16, 16);
  tail.writeUInt32LE(32, 20);
  tail.writeUInt8(2, 24);
  tail.writeUInt32LE(12, 28);
  // The type: an integer of 32 bits, signed.
  for (const [i, value] of [8, 9, 4, 8].entries()) tail.writeUInt16LE(value, 32 + 2 * i);
  tail.writeInt32LE(8, 40);
  tail.writeInt32LE(32, 44);
  tail.writeUInt8(1, 48);
  tail.writeUInt32LE(3, 52);
  tail.write('abc', 56);
  return message(1, Buffer.concat([head, places, tail]), 0);
}

/** A file with its batches in its footer. */
const PLAIN = join(CORPUS, 'plain.arrow');

/** The first of its batches is named `count` times. */
function sharedBatch(count: number): Buffer {
  const file = readFileSync(PLAIN);
  const footerBytes = file.readInt32LE(file.length - 10);
  const footer = file.subarray(file.length - 10 - footerBytes, file.length - 10);
  const table = footer.readUInt32LE(0);
  const place = table + footer.readUInt16LE(table - footer.readInt32LE(table) + 4 + 2 * 3);
  const blocks = place + footer.readUInt32LE(place);
  const longer = Buffer.concat([
    footer,
    Buffer.alloc(((8 - ((footer.length + 4) % 8)) % 8) + 4),
    repeated(footer.subarray(blocks + 4, blocks + 28), count),
  ]);
  const blocksAt = longer.length - 24 * count - 4;
  longer.writeUInt32LE(count, blocksAt);
  longer.writeUInt32LE(blocksAt - place, place);
  const end = Buffer.from(file.subarray(file.length - 10));
  end.writeInt32LE(longer.length, 0);
  return Buffer.concat([file.subarray(0, file.length - 10 - footerBytes), longer, end]);
}

/** By what there is much of; the ending says the format. */
export const OVERSIZED_FILES: Readonly<Record<string, OversizedFile>> = {
  'columns.parquet': (count) =>
    parquet([Buffer.concat([group('r', count), repeated(column('abc'), count)]), count + 1], [Buffer.alloc(0), 0]),
  'row-groups.parquet': (count) => parquet(oneColumn, [repeated(groupOf(1, chunk), count), count]),
  'chunks.parquet': (count) => parquet(oneColumn, [groupOf(count, repeated(chunk, count)), 1]),
  'columns-and-chunks.parquet': (count) =>
    parquet(
      [Buffer.concat([group('r', count), repeated(column('abc'), count)]), count + 1],
      [groupOf(count, repeated(chunk, count)), 1],
    ),
  'structures.parquet': (count) => parquet(oneColumn, [groupOf(count, Buffer.alloc(count)), 1]),
  'depth.parquet': (count) =>
    parquet([Buffer.concat([repeated(group('r', 1), count), column('abc')]), count + 1], [Buffer.alloc(0), 0]),
  'names.parquet': (count) =>
    parquet(oneColumn, [Buffer.alloc(0), 0], {
      notes: Buffer.concat([
        bytes(0x19),
        list(STRUCT, 1),
        bytes(0x18),
        varint(count * 100),
        Buffer.alloc(count * 100, 'a'),
        bytes(0),
      ]),
    }),
  'texts.parquet': (count) =>
    parquet(oneColumn, [
      groupOf(1, Buffer.concat([bytes(0x3c, 0x39), list(BINARY, count), Buffer.alloc(count), bytes(0, 0)])),
      1,
    ]),
  'pages.parquet': (count) => widePages(Math.ceil(count / 1_000)),
  'rows.parquet': (count) => parquet([group('r', 0), 1], [groupOf(0, Buffer.alloc(0), count * 1_000), 1]),
  'rows-beyond.parquet': (count) => parquet(oneColumn, [groupOf(1, chunk, count * 1_000), 1]),
  'deltas.arrow': (count) => deltas(Math.ceil(count / 100)),
  'buffers.arrow': (count) => Buffer.concat([schema(1), batch(1, count)]),
  'nodes.arrow': (count) => Buffer.concat([schema(1), batch(count, 2)]),
  'batches.arrow': (count) => Buffer.concat([schema(1), repeated(batch(1, 2), Math.ceil(count / 100))]),
  'columns.arrow': (count) => Buffer.concat([schema(count), batch(count, 2 * count)]),
  'shared-batch.arrow': (count) => sharedBatch(count),
};
