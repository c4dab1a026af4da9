import fc from 'fast-check';
import { isQuiverError } from '../../shared/base/errors/quiver-error';
import { hitsFromBytes, hitsToBytes } from '../../shared/wire/codecs/hit-codec';
import { itemsFromBytes, itemsToBytes } from '../../shared/wire/codecs/item-codec';
import { outcomesFromBytes, outcomesToBytes } from '../../shared/wire/codecs/outcome-codec';
import { stringsFromBytes, stringsToBytes } from '../../shared/wire/codecs/string-list-codec';
import type { Hit, StoredItem } from '../../shared/contract/shard/shard-read';
import { anyText } from '../support/http/any-text';

/** What travels as bytes inside the frames of shared/wire. */

const runs = { numRuns: 300 };

const anyHit: fc.Arbitrary<Hit> = fc.record(
  { externalId: anyText, score: fc.double({ noNaN: true }), metadata: anyText, text: anyText },
  { requiredKeys: ['externalId', 'score', 'metadata'], noNullPrototype: true },
);
const anyItem: fc.Arbitrary<StoredItem | null> = fc.option(
  fc.record(
    {
      externalId: anyText,
      stamp: fc.maxSafeNat(),
      metadata: anyText,
      text: fc.option(anyText),
      vector: fc.float32Array({ noNaN: true, maxLength: 9 }),
      version: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      dated: fc.constant(true as const),
    },
    { requiredKeys: ['externalId', 'stamp', 'metadata', 'text'], noNullPrototype: true },
  ),
);

/** What is given back, from the bytes as they are and from an address that is no multiple of 4. */
function roundTrips<T>(values: fc.Arbitrary<T>, toBytes: (value: T) => Buffer, fromBytes: (bytes: Buffer) => T): void {
  fc.assert(
    fc.property(values, (value) => {
      const bytes = toBytes(value);
      expect(fromBytes(bytes)).toStrictEqual(value);
      expect(fromBytes(Buffer.concat([Buffer.alloc(1), bytes]).subarray(1))).toStrictEqual(value);
    }),
    runs,
  );
}

/** Damaged and cut bytes give a value or a QuiverError. */
function withstands<T>(values: fc.Arbitrary<T>, toBytes: (value: T) => Buffer, fromBytes: (bytes: Buffer) => T): void {
  fc.assert(
    fc.property(values, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 5 }), fc.nat(), (value, damage, cut) => {
      const bytes = toBytes(value);
      for (const [at, byte] of damage) bytes[at % bytes.length] = byte;
      for (const damaged of [bytes, bytes.subarray(0, cut % (bytes.length + 1))]) {
        try {
          fromBytes(damaged);
        } catch (error) {
          if (!isQuiverError(error)) throw error;
        }
      }
    }),
    { numRuns: 1000 },
  );
}

describe('bytes inside frames', () => {
  const hits = fc.array(anyHit, { maxLength: 6 });
  const items = fc.array(anyItem, { maxLength: 6 });
  const strings = fc.array(anyText, { maxLength: 6 });

  test('hits come back as they were, also from odd addresses', () => roundTrips(hits, hitsToBytes, hitsFromBytes));
  test('items come back as they were, also from odd addresses', () => roundTrips(items, itemsToBytes, itemsFromBytes));
  test('strings come back as they were, also from odd addresses', () =>
    roundTrips(strings, stringsToBytes, stringsFromBytes));
  test('damaged hits are an error at worst', () => withstands(hits, hitsToBytes, hitsFromBytes));
  test('damaged items are an error at worst', () => withstands(items, itemsToBytes, itemsFromBytes));
  test('damaged strings are an error at worst', () => withstands(strings, stringsToBytes, stringsFromBytes));

  test('outcomes come back as they were; another byte is refused', () => {
    const all = [
      'inserted',
      'updated',
      'deleted',
      'absent',
      'refused',
      'outdated',
      'conflict',
      'withheld',
      'excess',
    ] as const;
    expect(outcomesFromBytes(outcomesToBytes(all))).toEqual(all);
    expect(() => outcomesFromBytes(Buffer.of(9))).toThrow('malformed outcomes');
  });
});
