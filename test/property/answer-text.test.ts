import fc from 'fast-check';
import { hitJson, scoreJson } from '../../coordinator/api/answers/answer-json';
import { loadBodyScanner } from '../../coordinator/api/native/body-scanner';
import { mergeHits } from '../../coordinator/service/search/merge';
import {
  hitsFromBytes,
  hitsToBytes,
  mergedPackedHits,
  packedFromSent,
  utf8HitsOf,
  type TextsBySlot,
} from '../../shared/wire/codecs/hit-codec';
import { compareHits } from '../../shared/contract/shard/shard-read';
import type { Hit } from '../../shared/contract/shard/shard-read';
import { anyText } from '../support/http/any-text';

/** Answers that the addon writes from hits as bytes are to the byte those that are made of strings. */

const addon = loadBodyScanner()!;
const ROOM = 64 * 1024;

const anyId = anyText.map((text) => text.toWellFormed());
const anyMetadata = fc
  .dictionary(anyId, fc.oneof(anyId, fc.integer()), { maxKeys: 3 })
  .map((fields) => JSON.stringify(fields));
/** All doubles, by their bits: near and far from 1, infinite, not a number. */
const anyDouble = fc.tuple(fc.nat(0xffffffff), fc.nat(0xffffffff)).map(([high, low]) => {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(low, 0);
  bytes.writeUInt32LE(high, 4);
  return bytes.readDoubleLE(0);
});
const anyScore = fc.oneof(
  anyDouble,
  fc.double(),
  fc.float(),
  fc.integer(),
  fc.constantFrom(0, -0, 1e21, 1e-6, 1e-7, 123456789012345680000, 0.1, 5e-324, 2 ** 53, -1e20),
);
const anyHits: fc.Arbitrary<Hit[]> = fc.array(
  fc.record({ externalId: anyId, score: anyScore, metadata: anyMetadata }, { noNullPrototype: true }),
  { maxLength: 8 },
);

/** The items of a shard: each slot has the bytes of an id and of metadata behind it. */
function textsOf(hits: readonly Hit[]): TextsBySlot {
  const texts = hits.map(({ externalId, metadata }) => ({
    id: Buffer.from(externalId),
    both: Buffer.from(externalId + metadata),
  }));
  return {
    textBytesOf: (slot) => texts[slot].both.length,
    idBytesOf: (slot) => texts[slot].id.length,
    copyText: (slot, target, at) => texts[slot].both.copy(target, at),
  };
}

function packed(hits: readonly Hit[]): Buffer | null {
  return utf8HitsOf(
    textsOf(hits),
    { slots: hits.map((_, slot) => slot), scores: hits.map(({ score }) => score), count: hits.length },
    hits.length,
  );
}

function isTied(hits: readonly Hit[]): boolean {
  return hits.some(({ score }, i) => i > 0 && score === hits[i - 1].score);
}

test('hits as bytes are the hits, and their text is that of the hits', () => {
  fc.assert(
    fc.property(anyHits, fc.nat(100), (hits, at) => {
      const bytes = packed(hits);
      // Whose order is that of their ids.
      if (isTied(hits)) return expect(bytes).toBeNull();
      expect(hitsFromBytes(bytes!)).toEqual(hits);
      const target = Buffer.alloc(ROOM, 'x');
      const end = addon.writeHits(bytes!, target, at);
      expect(target.toString('utf8', at, end)).toBe(`[${hits.map(hitJson).join(',')}]`);
      expect(target.toString('latin1', 0, at)).toBe('x'.repeat(at));
    }),
    { numRuns: 1000 },
  );
});

test('hits that were sent are packed as they are, if they are ASCII without texts', () => {
  const anySent = fc.array(
    fc.record(
      { externalId: anyText, score: fc.double({ noNaN: true }), metadata: anyMetadata, text: anyText },
      { requiredKeys: ['externalId', 'score', 'metadata'], noNullPrototype: true },
    ),
    { maxLength: 6 },
  );
  let packedCount = 0;
  fc.assert(
    fc.property(anySent, fc.nat(), (hits, cut) => {
      const isPlain = hits.every(
        ({ externalId, metadata, text }) => text === undefined && /^[\0-\x7f]*$/.test(externalId + metadata),
      );
      const bytes = packedFromSent(hitsToBytes(hits));
      expect(bytes !== null).toBe(isPlain);
      if (bytes === null) return;
      packedCount += 1;
      expect(hitsFromBytes(bytes)).toEqual(hits);
      // Nothing that is cut off is taken for whole.
      const sent = hitsToBytes(hits);
      expect(packedFromSent(sent.subarray(0, cut % sent.length))).toBeNull();
    }),
    { numRuns: 1000 },
  );
  expect(packedCount).toBeGreaterThan(100);
});

test('lists of packed hits are merged as hits are; those whose order is that of ids are left to them', () => {
  const fewScores = fc.oneof(fc.integer({ min: 0, max: 4 }), fc.double({ noNaN: true }));
  const anyList = fc.array(
    fc.record({ externalId: anyId, score: fewScores, metadata: anyMetadata }, { noNullPrototype: true }),
    { maxLength: 6 },
  );
  let merged = 0;
  let tied = 0;
  fc.assert(
    fc.property(fc.array(anyList, { minLength: 1, maxLength: 4 }), fc.integer({ min: 1, max: 20 }), (lists, k) => {
      const sorted = lists.map((list) =>
        [...list].sort(compareHits).filter(({ score }, i, all) => i === 0 || score !== all[i - 1].score),
      );
      const bytes = mergedPackedHits(
        sorted.map((list) => packed(list)!),
        k,
      );
      const wanted = mergeHits(sorted, 0, k);
      // -0 and 0 are one score.
      const isTied = wanted.some(
        ({ score }, i) => sorted.flat().filter((hit) => hit.score === score).length > 1 && i >= 0,
      );
      expect(bytes === null).toBe(isTied);
      if (bytes === null) {
        tied += 1;
        return;
      }
      merged += 1;
      expect(hitsFromBytes(bytes)).toEqual(wanted);
    }),
    { numRuns: 2000 },
  );
  expect(Math.min(merged, tied)).toBeGreaterThan(200);
});

test('numbers are written as JavaScript writes them', () => {
  fc.assert(
    fc.property(anyScore, (score) => {
      const target = Buffer.alloc(200);
      const end = addon.writeHits(packed([{ externalId: 'a', score, metadata: '{}' }])!, target, 0);
      expect(target.toString('latin1', 0, end)).toBe(`[{"external_id":"a","score":${scoreJson(score)},"metadata":{}}]`);
    }),
    { numRuns: 20_000 },
  );
});

test('what has no room is not written beyond it, and damaged bytes do no harm', () => {
  fc.assert(
    fc.property(
      anyHits,
      fc.nat(400),
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
      fc.nat(),
      (hits, capacity, damage, cut) => {
        const whole = packed(hits);
        if (whole === null) return;
        const memory = Buffer.alloc(ROOM, 'x');
        const end = addon.writeHits(whole, memory.subarray(0, capacity), 0);
        expect(end).toBeLessThanOrEqual(capacity);
        expect(memory.indexOf('x', capacity)).toBe(capacity);
        expect(memory.subarray(capacity).every((byte) => byte === 0x78)).toBe(true);
        if (end > 0) expect(memory.toString('utf8', 0, end)).toBe(`[${hits.map(hitJson).join(',')}]`);
        const damaged = Buffer.from(whole.subarray(0, cut % (whole.length + 1)));
        for (const [at, byte] of damage) if (damaged.length > 0) damaged[at % damaged.length] = byte;
        expect(addon.writeHits(damaged, memory, 0)).toBeLessThanOrEqual(ROOM);
        // Those that are sent have lengths that count otherwise.
        expect(addon.writeHits(hitsToBytes(hits), memory, 0)).toBe(0);
      },
    ),
    { numRuns: 1000 },
  );
});
