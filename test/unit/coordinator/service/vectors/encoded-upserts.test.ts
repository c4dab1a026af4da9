import { EncodedUpserts } from '../../../../../coordinator/service/vectors/encoded-upserts';
import { operationsToBytes } from '../../../../../shared/contract/writes/operation-codec';
import type { UpsertOperation } from '../../../../../shared/contract/shard/shard-client';

function upsert(externalId: string, vector: number[], metadata?: string): UpsertOperation {
  return { type: 'upsert', externalId, vector: Float32Array.from(vector), stamp: 0, metadata, text: undefined };
}

const OPERATIONS = [upsert('a', [1, 2]), upsert('日本', [3, 4], '{"n":1}'), upsert('abc', [5, 6], '{}')];

function encoded(release: (memory: ArrayBuffer) => void = () => undefined): EncodedUpserts {
  return new EncodedUpserts({ count: 3, dim: 2, bytes: operationsToBytes(OPERATIONS), release });
}

test('has the items that were encoded', () => {
  expect(encoded().items()).toEqual([
    { externalId: 'a', source: { vector: Float32Array.of(1, 2) }, metadata: undefined, text: undefined },
    { externalId: '日本', source: { vector: Float32Array.of(3, 4) }, metadata: '{"n":1}', text: undefined },
    { externalId: 'abc', source: { vector: Float32Array.of(5, 6) }, metadata: '{}', text: undefined },
  ]);
});

test('gives consecutive stamps, and nothing else changes', () => {
  const items = encoded();
  expect(items.stamp(41)).toEqual(['a', '日本', 'abc']);
  expect(items.operations()).toEqual(OPERATIONS.map((operation, i) => ({ ...operation, stamp: 41 + i })));
});

test('releases the memory that it has by then', () => {
  const released: ArrayBuffer[] = [];
  const items = encoded((memory) => void released.push(memory));
  const other = Buffer.alloc(8);
  items.bytes = other;
  items.done();
  expect(released).toEqual([other.buffer]);
});
