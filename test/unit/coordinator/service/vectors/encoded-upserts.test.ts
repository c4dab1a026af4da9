import { type DividedWrite, EncodedUpserts } from '../../../../../coordinator/service/vectors/encoded-upserts';
import { operationsToBytes } from '../../../../../shared/contract/writes/operation-codec';
import type { UpsertOperation } from '../../../../../shared/contract/shard/shard-client';

function upsert(externalId: string, vector: number[], metadata?: string): UpsertOperation {
  return { type: 'upsert', externalId, vector: Float32Array.from(vector), stamp: 0, metadata, text: undefined };
}

const OPERATIONS = [upsert('a', [1, 2]), upsert('日本', [3, 4], '{"n":1}'), upsert('abc', [5, 6], '{}')];

const all = { shard: 0, bytes: operationsToBytes(OPERATIONS), isShared: false, places: null };

/** Memory that notes what it gets back. The first item goes to one shard, the others to another. */
function encoded() {
  const released: ArrayBuffer[] = [];
  const discarded: Buffer[] = [];
  const asked: unknown[] = [];
  const part = (shard: number, places: number[]): DividedWrite => ({
    shard,
    bytes: operationsToBytes(places.map((place) => OPERATIONS[place])).buffer as ArrayBuffer,
    places: Uint32Array.from(places).buffer,
  });
  const divide = (_write: Uint8Array, shards: number, ttlMs: number): DividedWrite[] => {
    asked.push([shards, ttlMs]);
    return shards === 1 ? [part(0, [0, 1, 2])] : [part(1, [0]), part(4, [1, 2])];
  };
  const release = (given: ArrayBuffer): void => void released.push(given);
  const discard = (given: Buffer): void => void discarded.push(given);
  const memory = { divide, release, discard };
  const items = new EncodedUpserts({ count: 3, dim: 2, bytes: operationsToBytes(OPERATIONS), memory });
  return { items, released, discarded, asked };
}

test('has the items that were encoded', () => {
  const { items } = encoded();
  expect(items.items()).toEqual([
    { externalId: 'a', source: { vector: Float32Array.of(1, 2) }, metadata: undefined, text: undefined },
    { externalId: '日本', source: { vector: Float32Array.of(3, 4) }, metadata: '{"n":1}', text: undefined },
    { externalId: 'abc', source: { vector: Float32Array.of(5, 6) }, metadata: '{}', text: undefined },
  ]);
});

test('gives consecutive stamps, and nothing else changes', () => {
  const { items } = encoded();
  expect(items.stamp(41)).toEqual(['a', '日本', 'abc']);
  expect(items.operations()).toEqual(OPERATIONS.map((operation, i) => ({ ...operation, stamp: 41 + i })));
});

test('counts what it stores', () => {
  expect(encoded().items.storedBytes()).toBe(1 + 8 + (6 + 8 + 7) + (3 + 8 + 2));
});

test('is one part for one shard, and nothing is divided', () => {
  const { items, asked } = encoded();
  expect(items.parts(1, undefined)).toEqual([all]);
  expect(asked).toEqual([]);
});

test('is divided among several shards, and where items expire', () => {
  const { items, asked } = encoded();
  expect(items.parts(5, undefined)).toEqual([
    { shard: 1, bytes: operationsToBytes(OPERATIONS.slice(0, 1)), isShared: false, places: Uint32Array.of(0) },
    { shard: 4, bytes: operationsToBytes(OPERATIONS.slice(1)), isShared: false, places: Uint32Array.of(1, 2) },
  ]);
  expect(items.operations()).toEqual(OPERATIONS);
  const living = encoded();
  expect(living.items.parts(1, 60_000)).toEqual([all]);
  expect(living.items.operations()).toEqual(OPERATIONS.map((operation) => ({ ...operation, ttlMs: 60_000 })));
  expect([...asked, ...living.asked]).toEqual([
    [5, 0],
    [1, 60_000],
  ]);
});

test('releases the memory that it has by then, and that of its parts', () => {
  const { items, released, discarded } = encoded();
  const [whole] = items.parts(1, undefined);
  const other = Buffer.alloc(8);
  whole.bytes = other;
  items.done();
  expect(released).toEqual([other.buffer]);
  const several = encoded();
  const parts = several.items.parts(5, undefined);
  several.items.done();
  expect(several.released).toHaveLength(1);
  expect(several.discarded).toEqual(parts.map(({ bytes }) => bytes));
  expect(discarded).toEqual([]);
});

test('leaves memory that is still read to garbage collection', () => {
  const { items, released } = encoded();
  items.parts(1, undefined)[0].isShared = true;
  items.done();
  expect(released).toEqual([]);
  const several = encoded();
  const parts = several.items.parts(5, undefined);
  parts[0].isShared = true;
  several.items.done();
  expect(several.discarded).toEqual([parts[1].bytes]);
});
