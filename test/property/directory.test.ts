import assert from 'node:assert/strict';
import { Directory, type DirectoryEntry } from '../../node/records/directory';
import { runSeed, seededRandom } from '../support/random';

const STEPS = Number(process.env.STEPS ?? 30_000);

/** Compares everything a directory answers with a map of slots: tens of thousands of times, so without `expect`, which is slow. */
function expectSame(directory: Directory, model: ReadonlyMap<number, DirectoryEntry>): void {
  expect(directory.liveCount).toBe(model.size);
  for (const [slot, entry] of model) {
    const answered = {
      externalId: directory.externalIdOf(slot),
      recno: directory.recnoOf(slot),
      stamp: directory.stampOf(slot),
      metadata: directory.metadataOf(slot),
      hasText: directory.hasText(slot),
      version: directory.versionOf(slot),
    };
    assert.deepEqual(answered, entry);
    assert.equal(directory.slotOf(entry.externalId), slot);
    assert.equal(directory.isLive(slot), true);
  }
  expect([...directory.liveSlots()]).toEqual([...model.keys()].sort((a, b) => a - b));
  const { limit, free } = directory.freeSlots();
  expect(limit).toBe(Math.max(-1, ...model.keys()) + 1);
  expect(free.sort((a, b) => a - b)).toEqual(Array.from({ length: limit }, (_, slot) => slot).filter((slot) => !model.has(slot)));
}

test('a directory answers as a map does, and so does each of its saves, taken while it changes', () => {
  const random = seededRandom(runSeed('directory'));
  const below = (limit: number) => Math.floor(random() * limit);
  const idOf = (i: number) => ['plain-', '日本', '\ud83d', '__proto__'][i % 4] + i;
  let directory = new Directory();
  const model = new Map<number, DirectoryEntry>();
  const slots = new Map<string, number>();
  let recno = 0;

  const removeSlot = (slot: number): void => {
    slots.delete((model.get(slot) as DirectoryEntry).externalId);
    model.delete(slot);
    directory.remove(slot);
  };
  const put = (slot: number): void => {
    const externalId = idOf(below(600));
    const held = slots.get(externalId);
    if (held !== undefined) removeSlot(held);
    if (model.has(slot)) removeSlot(slot);
    // Now and then so long that chunks of the arena come and go.
    const note = 'é'.repeat(random() < 0.02 ? below(60_000) : below(400));
    const entry = { externalId, recno: ++recno, stamp: below(1e6), version: 1 + below(1e6), metadata: JSON.stringify({ note }), hasText: random() < 0.5 };
    directory.put(slot, entry);
    model.set(slot, entry);
    slots.set(externalId, slot);
  };

  let save: { chunks: Iterator<Buffer>; bytes: Buffer[]; stored: Map<number, DirectoryEntry> } | null = null;
  for (let step = 0; step < STEPS; step++) {
    if (random() < 0.6 || model.size === 0) put(below(700));
    else removeSlot([...model.keys()][below(model.size)]);
    assert.equal(directory.slotOf('nobody'), -1);
    if (step % 997 === 0) expectSame(directory, model);

    if (save === null) {
      if (random() < 0.005) save = { chunks: directory.save()[Symbol.iterator](), bytes: [], stored: new Map(model) };
    } else if (random() < 0.3) {
      const { value, done } = save.chunks.next();
      if (!done) {
        save.bytes.push(Buffer.from(value));
        continue;
      }
      const emptied = new Set([...save.stored.keys()].filter(() => random() < 0.1));
      const loaded = Directory.load(Buffer.concat(save.bytes), emptied);
      const expected = new Map([...save.stored].filter(([slot]) => !emptied.has(slot)));
      expectSame(loaded, expected);
      expect(loaded.lastStamp).toBeGreaterThanOrEqual(Math.max(...[...save.stored.values()].map((entry) => entry.stamp)));
      save = null;
      if (random() < 0.3) {
        directory = loaded;
        model.clear();
        slots.clear();
        for (const [slot, entry] of expected) {
          model.set(slot, entry);
          slots.set(entry.externalId, slot);
        }
      }
    }
  }
  expectSame(directory, model);
  const livingBytes = [...model.values()].reduce((sum, entry) => sum + Buffer.byteLength(entry.externalId + entry.metadata), 0);
  expect(directory.memoryBytes).toBeLessThan(livingBytes * 4 + (4 << 20));
});

test('a save that is cut or followed by more is refused, never misread', () => {
  const directory = new Directory();
  for (let slot = 0; slot < 50; slot++) directory.put(slot, { externalId: `id${slot}`, recno: slot, stamp: slot, version: slot, metadata: '{}', hasText: false });
  const bytes = Buffer.concat([...directory.save()]);
  expect(Directory.load(bytes, new Set()).liveCount).toBe(50);
  for (const length of [0, 3, 23, 24, 100, bytes.length - 1]) expect(() => Directory.load(bytes.subarray(0, length), new Set())).toThrow('saved directory');
  expect(() => Directory.load(Buffer.concat([bytes, Buffer.of(0)]), new Set())).toThrow('saved directory');
});
