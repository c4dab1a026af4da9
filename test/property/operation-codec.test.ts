import assert from 'node:assert/strict';
import fc from 'fast-check';
import { isQuiverError } from '../../shared/base/errors/quiver-error';
import { parseFilter } from '../../shared/contract/filter/parse-filter';
import {
  isDated,
  momentOf,
  operationsFromBytes,
  operationsToBytes,
  stampMoment,
} from '../../shared/contract/writes/operation-codec';
import { OPERATIONS_VERSION } from '../../shared/contract/writes/operation-format';
import type { WriteOperation } from '../../shared/contract/shard/shard-client';
import { SHARD_STAGES } from '../../shared/contract/shard/shard-stage';
import { anyText } from '../support/http/any-text';
import { earlierOperations } from '../support/shards/earlier-operations';

/** Writes as bytes (shared/contract/writes/operation-codec.ts). */

const runs = { numRuns: 300 };

/** Few, so that neighbours share one. */
const FILTERS = [{ a: '\ud83d' }, { n: { $gte: 1 } }, { $or: [{ a: 'é' }, { b: [1, null] }] }].map(
  (json) => parseFilter(json) ?? undefined,
);
/** Few, so that neighbours share one. */
const PATCHES = [true, false].map((replaces) => ({ json: '{"a":"\ud83d"}', replaces, bytesMax: 100, fieldsMax: 5 }));
const anyCondition = fc.option(fc.integer({ min: -1, max: Number.MAX_SAFE_INTEGER }), { nil: undefined });
const EXPIRING = {
  expiresAt: fc.constantFrom(undefined, null, 1_700_000_000_000),
  ttlMs: fc.constantFrom(undefined, 1, 86_400_000),
};

const anyOperation: fc.Arbitrary<WriteOperation> = fc.oneof(
  fc.record({ type: fc.constant('expire' as const), externalId: anyText }),
  fc.record({ type: fc.constant('delete' as const), externalId: anyText, expected: anyCondition }),
  fc.record({ type: fc.constant('delete' as const), externalId: anyText, filter: fc.constantFrom(...FILTERS) }),
  fc.record({
    type: fc.constant('upsert' as const),
    externalId: anyText,
    vector: fc.float32Array({ noNaN: true, maxLength: 20 }),
    stamp: fc.maxSafeNat(),
    metadata: fc.option(anyText, { nil: undefined }),
    text: fc.option(anyText, { nil: undefined }),
    expected: anyCondition,
    alone: fc.constantFrom(true, undefined),
    ...EXPIRING,
  }),
  fc.record({
    type: fc.constant('patch' as const),
    externalId: anyText,
    vector: fc.option(fc.float32Array({ noNaN: true, minLength: 1, maxLength: 20 }), { nil: undefined }),
    text: fc.option(anyText, { nil: undefined }),
    metadata: fc.option(
      fc.oneof(
        fc.constantFrom(...PATCHES),
        fc.record({ json: anyText, replaces: fc.boolean(), bytesMax: fc.nat(), fieldsMax: fc.nat() }),
      ),
      { nil: undefined },
    ),
    filter: fc.constantFrom(undefined, ...FILTERS),
    expected: anyCondition,
    alone: fc.constantFrom(true, undefined),
    ...EXPIRING,
  }),
  fc.record({
    type: fc.constant('stage' as const),
    term: fc.maxSafeNat(),
    reshard: anyText,
    stage: fc.constantFrom(...SHARD_STAGES),
    forget: fc.maxSafeNat(),
    versionFloor: fc.option(fc.maxSafeNat(), { nil: undefined }),
  }),
  fc.record({
    type: fc.constant('import' as const),
    term: fc.maxSafeNat(),
    externalId: anyText,
    item: fc.option(
      fc.record({
        vector: fc.float32Array({ noNaN: true, maxLength: 20 }),
        stamp: fc.maxSafeNat(),
        metadata: anyText,
        text: fc.option(anyText),
        version: fc.option(fc.maxSafeNat(), { nil: undefined }),
        expiry: fc.constantFrom(undefined, 1_700_000_000_000, -1_700_000_000_000),
        dated: fc.constantFrom(undefined, true),
      }),
    ),
  }),
);
const anyOperations = fc.array(anyOperation, { maxLength: 8 });

function withoutDate(operation: WriteOperation): WriteOperation {
  return operation.type === 'import' && operation.item !== null
    ? { ...operation, item: { ...operation.item, dated: undefined } }
    : operation;
}

/** The same bytes at an address that is no multiple of 4. */
function misaligned(bytes: Buffer): Buffer {
  const room = Buffer.alloc(bytes.length + 8);
  const offset = (room.byteOffset % 4) + 1;
  bytes.copy(room, offset);
  return room.subarray(offset, offset + bytes.length);
}

describe('operation codec', () => {
  test('gives back the operations that were written, wherever the bytes lie', () => {
    fc.assert(
      fc.property(anyOperations, (operations) => {
        const bytes = operationsToBytes(operations, true);
        expect(operationsFromBytes(bytes)).toEqual(operations);
        expect(operationsFromBytes(misaligned(bytes))).toEqual(operations);
        // Whoever knows no dates gets all the rest.
        const undated = operationsToBytes(operations);
        const read = operationsFromBytes(undated);
        expect([undated.readUInt32LE(0), isDated(undated), read]).toEqual([5, false, operations.map(withoutDate)]);
      }),
      runs,
    );
  });

  test('vectors of aligned bytes are looked at in place', () => {
    const bytes = operationsToBytes([
      {
        type: 'upsert',
        externalId: 'odd',
        vector: Float32Array.of(1, 2),
        stamp: 1,
        metadata: undefined,
        text: undefined,
      },
    ]);
    const [operation] = operationsFromBytes(bytes);
    expect(operation.type === 'upsert' && operation.vector.buffer).toBe(bytes.buffer);
  });

  test('bytes cut anywhere are refused', () => {
    fc.assert(
      fc.property(fc.array(anyOperation, { minLength: 1, maxLength: 3 }), (operations) => {
        const bytes = operationsToBytes(operations);
        // Tens of thousands of times, each with `expect` half a millisecond.
        for (let length = 0; length < bytes.length; length++) {
          assert.throws(() => operationsFromBytes(bytes.subarray(0, length)), /malformed operations/);
        }
        assert.throws(() => operationsFromBytes(Buffer.concat([bytes, Buffer.alloc(4)])), /malformed operations/);
      }),
      { numRuns: 50 },
    );
  });

  test('damaged bytes give operations or a QuiverError, never another failure', () => {
    fc.assert(
      fc.property(
        anyOperations,
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 6 }),
        (operations, damage) => {
          const bytes = operationsToBytes(operations, true);
          for (const [at, value] of damage) bytes[at % bytes.length] = value;
          try {
            operationsFromBytes(bytes);
          } catch (error) {
            if (!isQuiverError(error)) throw error;
          }
        },
      ),
      { numRuns: 2000 },
    );
  });

  test('a filter that is none is refused', () => {
    const bytes = operationsToBytes([{ type: 'delete', externalId: 'a', filter: { type: 'exists', path: 'a' } }]);
    bytes.write('exiled', bytes.indexOf('exists'));
    expect(() => operationsFromBytes(bytes)).toThrow('malformed operations: a filter that is none');
  });

  test.each([1, 2, 3, 4, 5, 6] as const)('what a log has of version %i is read', (version) => {
    const plain: WriteOperation[] = [
      { type: 'upsert', externalId: 'a', vector: Float32Array.of(1, 2), stamp: 3, metadata: '{}', text: 'text' },
      { type: 'delete', externalId: 'b' },
    ];
    const staged: WriteOperation[] = [{ type: 'stage', term: 1, reshard: 'r', stage: 'open', forget: 0 }];
    const counted: WriteOperation[] = [{ type: 'delete', externalId: 'c', expected: 7 }];
    for (const operations of [plain, ...(version >= 2 ? [staged] : []), ...(version >= 3 ? [counted] : [])]) {
      const bytes =
        version === 5 || version === 6
          ? operationsToBytes(operations, version === 6)
          : earlierOperations(operations, version);
      expect([bytes.readUInt32LE(0), momentOf(bytes), operationsFromBytes(bytes)]).toEqual([version, 0, operations]);
    }
  });

  test('a later version is refused', () => {
    const bytes = operationsToBytes([]);
    bytes[0] = OPERATIONS_VERSION + 1;
    expect(() => operationsFromBytes(bytes)).toThrow('unknown header');
  });

  test('a write has no moment until it is given one, and what has none is of an earlier version', () => {
    const bytes = operationsToBytes([{ type: 'expire', externalId: 'a' }]);
    expect([bytes.readUInt32LE(0), momentOf(bytes)]).toEqual([5, 0]);
    stampMoment(bytes, 1_700_000_000_000);
    expect([momentOf(bytes), operationsFromBytes(bytes)]).toEqual([
      1_700_000_000_000,
      [{ type: 'expire', externalId: 'a' }],
    ]);
    const earlier = earlierOperations([{ type: 'delete', externalId: 'a' }], 3);
    stampMoment(earlier, 1_700_000_000_000);
    expect([momentOf(earlier), operationsFromBytes(earlier)]).toEqual([0, [{ type: 'delete', externalId: 'a' }]]);
  });
});
