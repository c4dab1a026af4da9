import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChunkStore } from '../../node/engine/records/chunk-store';
import { Directory, type DirectoryEntry } from '../../node/engine/directory/directory';
import type { SavedBytes } from '../../node/engine/directory/directory-save';
import { DirectoryView } from '../../node/engine/directory/directory-view';
import { runSeed, seededRandom } from '../support/values/random';

const STEPS = Number(process.env.STEPS ?? 30_000);

/**
 * Compares everything a directory answers with a map of slots: tens of thousands of times, so without `expect`, which
 * is slow.
 */
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
  const ids = [...model.values()].map(({ externalId }) => externalId);
  expect([...directory.slotsOf([...ids, 'nobody', ...ids.slice(0, 9)])].sort((a, b) => a - b)).toEqual(
    [...model.keys(), ...[...model.keys()].slice(0, 9)].sort((a, b) => a - b),
  );
  expect([...directory.liveSlots()]).toEqual([...model.keys()].sort((a, b) => a - b));
  const { limit, free } = directory.freeSlots();
  expect(limit).toBe(Math.max(-1, ...model.keys()) + 1);
  expect(free.sort((a, b) => a - b)).toEqual(
    Array.from({ length: limit }, (_, slot) => slot).filter((slot) => !model.has(slot)),
  );
}

function expectSeen(view: DirectoryView, model: ReadonlyMap<number, DirectoryEntry>): void {
  for (const [slot, { externalId, metadata }] of model)
    assert.deepEqual([view.isLive(slot), view.externalIdOf(slot), view.metadataOf(slot)], [true, externalId, metadata]);
  assert.equal(view.takeFailure(), false);
}

/** A save that is whole in memory. */
function savedBytes(bytes: Buffer): SavedBytes {
  let at = 0;
  return { size: bytes.length, take: (length) => bytes.subarray(at, (at += length)) };
}

const folder = mkdtempSync(join(tmpdir(), 'quiver-directory-'));
let stores = 0;

afterAll(() => rmSync(folder, { recursive: true }));

async function storeFor(place: 'memory' | 'disk'): Promise<ChunkStore | null> {
  const fail = (error: Error): void => {
    throw error;
  };
  return place === 'memory' ? null : ChunkStore.open(join(folder, `${stores++}`), fail);
}

/** What other threads would read: everything that was published of it, in order. */
function viewOf(directory: Directory): DirectoryView {
  const view = new DirectoryView();
  for (const part of directory.parts()) view.take(part);
  directory.onPart = (part) => view.take(part);
  return view;
}

test.each(['memory', 'disk'] as const)(
  'a directory in %s answers as a map does, and so does each of its saves, taken while it changes',
  async (place) => {
    const random = seededRandom(runSeed('directory'));
    const below = (limit: number) => Math.floor(random() * limit);
    const idOf = (i: number) => ['plain-', '日本', '\ud83d', '__proto__'][i % 4] + i;
    let directory = new Directory(await storeFor(place));
    let view = viewOf(directory);
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
      const entry = {
        externalId,
        recno: ++recno,
        stamp: below(1e6),
        version: 1 + below(1e6),
        metadata: JSON.stringify({ note }),
        hasText: random() < 0.5,
      };
      directory.put(slot, entry);
      model.set(slot, entry);
      slots.set(externalId, slot);
    };

    let save: { chunks: Iterator<Buffer>; bytes: Buffer[]; stored: Map<number, DirectoryEntry> } | null = null;
    for (let step = 0; step < STEPS; step++) {
      if (random() < 0.6 || model.size === 0) put(below(700));
      else removeSlot([...model.keys()][below(model.size)]);
      assert.equal(directory.slotOf('nobody'), -1);
      if (step % 997 === 0) {
        expectSame(directory, model);
        expectSeen(view, model);
      }
      if (step % 5_003 === 5_002) for (const _ of directory.rewriteInSteps());

      if (save === null) {
        if (random() < 0.005) save = { chunks: directory.save()[Symbol.iterator](), bytes: [], stored: new Map(model) };
      } else if (random() < 0.3) {
        const { value, done } = save.chunks.next();
        if (!done) {
          save.bytes.push(Buffer.from(value));
          continue;
        }
        const emptied = new Set([...save.stored.keys()].filter(() => random() < 0.1));
        const loaded = await Directory.load(
          savedBytes(Buffer.concat(save.bytes)),
          emptied,
          await storeFor(random() < 0.5 ? place : 'memory'),
        );
        const expected = new Map([...save.stored].filter(([slot]) => !emptied.has(slot)));
        expectSame(loaded, expected);
        expect(loaded.lastStamp).toBeGreaterThanOrEqual(
          Math.max(...[...save.stored.values()].map((entry) => entry.stamp)),
        );
        save = null;
        if (random() < 0.3) {
          view.close();
          directory.close();
          directory = loaded;
          view = viewOf(directory);
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
    expectSeen(view, model);
    const livingBytes = [...model.values()].reduce(
      (sum, entry) => sum + Buffer.byteLength(entry.externalId + entry.metadata),
      0,
    );
    expect(directory.memoryBytes).toBeLessThan(livingBytes * 4 + (4 << 20));
    // A quarter of a file may be living, and one is being filled.
    expect(directory.diskBytes).toBeLessThan(livingBytes * 8 + (64 << 20));
    view.close();
    directory.close();
  },
);

test('a save that is cut or followed by more is refused, never misread', async () => {
  const directory = new Directory();
  for (let slot = 0; slot < 50; slot++)
    directory.put(slot, {
      externalId: `id${slot}`,
      recno: slot,
      stamp: slot,
      version: slot,
      metadata: '{}',
      hasText: false,
    });
  const bytes = Buffer.concat([...directory.save()]);
  expect((await Directory.load(savedBytes(bytes), new Set())).liveCount).toBe(50);
  for (const length of [0, 3, 23, 24, 100, bytes.length - 1])
    await expect(Directory.load(savedBytes(bytes.subarray(0, length)), new Set())).rejects.toThrow('saved directory');
  await expect(Directory.load(savedBytes(Buffer.concat([bytes, Buffer.of(0)])), new Set())).rejects.toThrow(
    'saved directory',
  );
});
