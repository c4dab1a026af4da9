import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ByteReader } from '../../node/engine/files/byte-reader';
import { ByteWriter } from '../../node/engine/files/byte-writer';
import { ChunkedSlotSet } from '../../node/engine/slots/chunked-slot-set';
import { FoundSlotSet } from '../../node/engine/slots/found-slot-set';
import { readSlotSet, writeSlotSet } from '../../node/engine/slots/slot-set-codec';

/** ChunkedSlotSet and FoundSlotSet against a plain Set of numbers. */

const parameters = { numRuns: 60 };

/** Dense runs, scattered slots and both ends of the range, so that all chunk shapes and their changes occur. */
const slot = fc.oneof(
  fc.nat({ max: 600 }),
  fc.nat({ max: 300_000 }),
  fc.constantFrom(0, 31, 32, 65_535, 65_536, 131_071, 2 ** 31, 2 ** 32 - 1),
);
const slots = fc.oneof(
  fc.array(slot, { maxLength: 600 }),
  fc
    .record({ from: fc.nat({ max: 200_000 }), length: fc.nat({ max: 90_000 }), step: fc.integer({ min: 1, max: 17 }) })
    .map(({ from, length, step }) => Array.from({ length: Math.ceil(length / step) }, (_, i) => from + i * step)),
);

const rising = (set: Iterable<number>): Uint32Array => Uint32Array.from(set).sort();

function expectSame(actual: ChunkedSlotSet, expected: Set<number>): void {
  expect(actual.size).toBe(expected.size);
  expect(Buffer.from(actual.toArray().buffer).equals(Buffer.from(rising(expected).buffer))).toBe(true);
}

/** Counts the changes whose answer differs from the model's. */
function wrongAnswers(changed: number[], change: (s: number) => boolean, modelChange: (s: number) => boolean): number {
  return changed.filter((s) => change(s) !== modelChange(s)).length;
}

describe('slot set', () => {
  test('is what was added and not removed', () => {
    fc.assert(
      fc.property(slots, slots, slots, (first, gone, again) => {
        const set = ChunkedSlotSet.fromArray(first);
        const model = new Set(first);
        const remove = (s: number): boolean => model.delete(s);
        const add = (s: number): boolean => !model.has(s) && model.add(s) === model;
        expect(wrongAnswers(gone, (s) => set.remove(s), remove)).toBe(0);
        expect(wrongAnswers(again, (s) => set.add(s), add)).toBe(0);
        expectSame(set, model);
        for (const s of [...first.slice(0, 50), ...gone.slice(0, 50)]) assert.equal(set.has(s), model.has(s));
        if (model.size > 0) expect(set.first()).toBe(rising(model)[0]);
        const all = rising(model);
        for (const s of all) set.remove(s);
        expect(set.size).toBe(0);
        expect(set.toArray().length).toBe(0);
      }),
      parameters,
    );
  });

  test('and, or and andNot are those of sets, in place or not, and leave their arguments alone', () => {
    fc.assert(
      fc.property(slots, slots, (left, right) => {
        const [a, b] = [ChunkedSlotSet.fromArray(left), ChunkedSlotSet.fromArray(right)];
        const [modelA, modelB] = [new Set(left), new Set(right)];
        const expected = {
          and: new Set([...modelA].filter((s) => modelB.has(s))),
          or: new Set([...modelA, ...modelB]),
          andNot: new Set([...modelA].filter((s) => !modelB.has(s))),
        };
        for (const operation of ['and', 'or', 'andNot'] as const) {
          expectSame(a[operation](b), expected[operation]);
          const changed = a.clone();
          changed[`${operation}InPlace`](b);
          expectSame(changed, expected[operation]);
        }
        expectSame(a, modelA);
        expectSame(b, modelB);
      }),
      parameters,
    );
  });

  test('a clone and its original change apart', () => {
    fc.assert(
      fc.property(slots, slots, (start, changes) => {
        const original = ChunkedSlotSet.fromArray(start);
        const copy = original.clone();
        const [model, copyModel] = [new Set(start), new Set(start)];
        changes.forEach((s, i) => {
          const [set, expected] = i % 2 === 0 ? [original, model] : [copy, copyModel];
          if (i % 3 === 0) {
            set.remove(s);
            expected.delete(s);
          } else {
            set.add(s);
            expected.add(s);
          }
        });
        expectSame(original, model);
        expectSame(copy, copyModel);
      }),
      parameters,
    );
  });

  test('survives its bytes and its bitmap', () => {
    fc.assert(
      fc.property(slots, (start) => {
        const set = ChunkedSlotSet.fromArray(start);
        const writer = new ByteWriter(64);
        writeSlotSet(set, writer);
        const reader = new ByteReader(writer.take());
        expectSame(readSlotSet(reader), new Set(start));
        expect(reader.atEnd).toBe(true);
        const low = start.filter((s) => s < 2 ** 20);
        const words = ChunkedSlotSet.fromArray(low).toBitmap(1_000);
        expect(words.length * 32).toBeGreaterThanOrEqual(1_000);
        expectSame(ChunkedSlotSet.fromBitmap(words), new Set(low));
        for (const s of low.slice(0, 100)) assert.equal((words[s >> 5] >>> (s & 31)) & 1, 1);
      }),
      parameters,
    );
  });

  test('refuses bytes that are cut short', () => {
    fc.assert(
      fc.property(slots, fc.double({ min: 0, max: 0.999, noNaN: true }), (start, cut) => {
        const writer = new ByteWriter();
        writeSlotSet(ChunkedSlotSet.fromArray([1, ...start]), writer);
        const bytes = writer.take();
        expect(() => readSlotSet(new ByteReader(bytes.subarray(0, Math.floor(bytes.length * cut))))).toThrow(/saved/);
      }),
      parameters,
    );
  });

  test('a set that was found is the same as a list and as a bitmap', () => {
    fc.assert(
      fc.property(slots, fc.nat({ max: 400_000 }), (some, slotCount) => {
        const below = some.filter((s) => s < 2 ** 20);
        const model = new Set(below);
        const chunked = ChunkedSlotSet.fromArray(below);
        const bitmap = chunked.toBitmap(slotCount);
        for (const found of [
          new FoundSlotSet(true, rising(model), model.size),
          new FoundSlotSet(false, bitmap, model.size),
        ]) {
          expectSame(found.toChunked(), model);
          expect(Buffer.from(found.toArray()).equals(Buffer.from(rising(model)))).toBe(true);
          const words = found.toBitmap(slotCount);
          expect(words.length).toBeGreaterThanOrEqual(Math.ceil(slotCount / 32));
          expectSame(ChunkedSlotSet.fromBitmap(words), model);
          for (const s of [...below.slice(0, 50), 0, 31, 32, slotCount, 2 ** 31])
            assert.equal(found.has(s), model.has(s));
        }
      }),
      parameters,
    );
  });
});
