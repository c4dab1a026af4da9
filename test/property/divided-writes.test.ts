import fc from 'fast-check';
import { groupByShard, shardOf } from '../../coordinator/service/routing/shard-router';
import { loadBodyScanner } from '../../coordinator/api/native/body-scanner';
import { operationsToBytes } from '../../shared/contract/writes/operation-codec';
import type { UpsertOperation, WriteOperation } from '../../shared/contract/shard/shard-client';
import { anyText } from '../support/http/any-text';
import { runSeed } from '../support/values/random';

/** What the addon divides among shards is what the long way sends to each. */

const addon = loadBodyScanner();

/** Of every kind: short ones of few letters, long ones, all planes of Unicode, halves of pairs. */
const anyId = fc.oneof(
  anyText,
  fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 520 }),
  fc.stringMatching(/^[a-z0-9-]{1,40}$/),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { minLength: 1, maxLength: 9 })
    .map((units) => String.fromCharCode(...units)),
  fc.constantFrom(
    '\u007f',
    '\u0080',
    '\u07ff',
    '\u0800',
    '\uffff',
    '\u{10000}',
    '\u{10ffff}',
    '\ud800',
    '\udc00',
    '\ud800a',
    '\0',
    '\ufeff',
  ),
);
const anyUpsert: fc.Arbitrary<UpsertOperation> = fc.record({
  type: fc.constant('upsert' as const),
  externalId: anyId,
  vector: fc.float32Array({ noNaN: true, maxLength: 5 }),
  stamp: fc.maxSafeNat(),
  metadata: fc.option(anyText, { nil: undefined }),
  text: fc.option(anyText, { nil: undefined }),
});
/** An item with nothing but an id and a vector, and `more`. */
function upsert(externalId: string, more: Partial<UpsertOperation> = {}): UpsertOperation {
  return {
    type: 'upsert',
    externalId,
    vector: Float32Array.of(1, 2),
    stamp: 1,
    metadata: undefined,
    text: undefined,
    ...more,
  };
}

const anyShards = fc.oneof(fc.constantFrom(1, 2, 5, 32), fc.integer({ min: 1, max: 1_000 }));

test('each shard gets the write that the long way sends it', () => {
  fc.assert(
    fc.property(
      fc.array(anyUpsert, { maxLength: 20 }),
      anyShards,
      fc.constantFrom(undefined, 1, 86_400_000),
      (operations, shards, ttlMs) => {
        const expiring = operations.map((operation) => (ttlMs === undefined ? operation : { ...operation, ttlMs }));
        const wanted = groupByShard(expiring, shards, ({ externalId }) => externalId).map(
          ({ shard, items, positions }) => ({
            shard,
            bytes: operationsToBytes(items).toString('hex'),
            places: positions,
          }),
        );
        const parts = addon.divideWrite(operationsToBytes(operations), shards, ttlMs ?? 0);
        expect(
          parts.map(({ shard, bytes, places }) => ({
            shard,
            bytes: Buffer.from(bytes).toString('hex'),
            places: [...new Uint32Array(places)],
          })),
        ).toEqual(wanted);
      },
    ),
    { seed: runSeed('divided-writes'), numRuns: 2_000 },
  );
});

test('every id goes to the shard that holds it', () => {
  fc.assert(
    fc.property(anyId, anyShards, (externalId, shards) => {
      const write = operationsToBytes([upsert(externalId)]);
      expect(addon.divideWrite(write, shards, 0).map(({ shard }) => shard)).toEqual([shardOf(externalId, shards)]);
    }),
    { seed: runSeed('divided-ids'), numRuns: 5_000 },
  );
});

test('what is no write of plain upserts is refused, and so is one with a byte changed, or divided all the same', () => {
  const write = operationsToBytes(['a', 'bc', 'é'].map((externalId) => upsert(externalId, { metadata: '{}' })));
  const refusal = /^divide: /;
  for (let end = 0; end < write.length; end += 1) {
    expect(() => addon.divideWrite(write.subarray(0, end), 3, 0)).toThrow(refusal);
  }
  for (let at = 0; at < write.length; at += 1) {
    for (const byte of [0x00, 0x7f, 0x80, 0xff]) {
      const changed = Buffer.from(write);
      changed[at] = byte;
      try {
        const parts = addon.divideWrite(changed, 3, 0);
        expect(parts.reduce((sum, { places }) => sum + places.byteLength / 4, 0)).toBe(3);
      } catch (error) {
        if (!String(error).startsWith('TypeError: divide: ')) throw error;
      }
    }
  }
  const others: WriteOperation[] = [
    upsert('a', { expected: 3 }),
    upsert('a', { ttlMs: 3 }),
    { type: 'delete', externalId: 'a' },
  ];
  for (const other of others) expect(() => addon.divideWrite(operationsToBytes([other]), 3, 0)).toThrow(refusal);
  for (const [shards, ttlMs] of [
    [0, 0],
    [-1, 0],
    [2 ** 21, 0],
    [NaN, 0],
    [1, -1],
    [1, NaN],
  ])
    expect(() => addon.divideWrite(write, shards, ttlMs)).toThrow(refusal);
  expect(() => addon.divideWrite(new Float32Array(4) as unknown as Uint8Array, 1, 0)).toThrow(refusal);
});
