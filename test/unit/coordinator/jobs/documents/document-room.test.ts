import { DocumentRoom } from '../../../../../coordinator/jobs/documents/document-room';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import type { ClusterStore } from '../../../../../shared/cluster-store/cluster-store';
import { isQuiverError } from '../../../../../shared/base/errors/quiver-error';
import { systemClock } from '../../../../../shared/base/time/clock';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { runSeed, seededRandom } from '../../../../support/values/random';

/** Room for files that wait, over several processes. */

const BOUNDS = { filesMax: 12, bytesMax: 1_000, writtenMax: null };
const random = seededRandom(runSeed('room of documents'));

let store: ClusterStore;
beforeEach(async () => {
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
});
afterEach(() => store.close());

const roomOf = () => new DocumentRoom({ store, clock: systemClock, bounds: BOUNDS });

async function isTaken(taken: Promise<void>): Promise<boolean> {
  try {
    await taken;
    return true;
  } catch (error) {
    if (isQuiverError(error) && error.kind === 'overloaded') return false;
    throw error;
  }
}

/** Another one may have released it. */
function ifGone(error: unknown): void {
  if (!isQuiverError(error) || error.kind !== 'unavailable') throw error;
}

async function sums(): Promise<Map<string, { files: number; bytes: number }>> {
  const { entries } = await store.list('/q/document-rooms/');
  const found = new Map<string, { files: number; bytes: number }>();
  for (const { key, value } of entries)
    if (!key.includes('/file/')) found.set(key.replace('/q/document-rooms/', ''), JSON.parse(value));
  return found;
}

test('processes that take room at once never exceed it, and sums are those of the files', async () => {
  const rooms = [roomOf(), roomOf(), roomOf()];
  const there: string[] = [];
  for (let round = 0; round < 60; round += 1) {
    const calls = Array.from({ length: 6 }, async (_, i) => {
      const room = rooms[i % rooms.length];
      const dice = random();
      const known = there[Math.floor(random() * there.length)];
      if (dice < 0.6) {
        const id = `document-${round}-${i}`;
        const holders = [`collection:${Math.floor(random() * 4)}`, `key:${Math.floor(random() * 3)}`];
        if (await isTaken(room.reserve(id, Math.ceil(random() * 150), holders))) there.push(id);
      } else if (known !== undefined && dice < 0.8) await room.fill(known, Math.ceil(random() * 150)).catch(ifGone);
      else if (known !== undefined) await room.release(known);
    });
    await Promise.all(calls);
    const expected = new Map<string, { files: number; bytes: number }>();
    for (const { bytes, holders } of (await rooms[0].list()).values())
      for (const holder of ['total', ...holders.map((one) => `of/${one}`)]) {
        const sum = expected.get(holder) ?? { files: 0, bytes: 0 };
        expected.set(holder, { files: sum.files + 1, bytes: sum.bytes + bytes });
      }
    expect(await sums()).toEqual(expected);
    expect(expected.get('total')?.files ?? 0).toBeLessThanOrEqual(BOUNDS.filesMax);
  }
});

test('at most what is announced is taken, however many processes ask at once', async () => {
  const rooms = Array.from({ length: 5 }, roomOf);
  const taken = await Promise.all(
    Array.from({ length: 20 }, (_, i) => isTaken(rooms[i % 5].reserve(`document-${i}`, 300, [`collection:${i}`]))),
  );
  expect(taken.filter(Boolean)).toHaveLength(3);
  expect((await sums()).get('total')).toEqual({ files: 3, bytes: 900 });
});

test('nobody has more than is left for all others, and one file always has room', async () => {
  const room = roomOf();
  const take = (id: string, bytes: number, holder: string): Promise<boolean> =>
    isTaken(room.reserve(id, bytes, [holder]));
  expect(await take('huge', 5_000, 'a')).toBe(true);
  await room.release('huge');
  expect(await take('1', 400, 'a')).toBe(true);
  expect(await take('2', 101, 'a')).toBe(true);
  expect(await take('3', 100, 'a')).toBe(false);
  expect(await take('4', 200, 'b')).toBe(true);
  expect(await take('5', 99, 'b')).toBe(true);
  expect(await take('6', 10, 'b')).toBe(false);
  expect(await take('7', 200, 'c')).toBe(true);
  await room.release('1');
  expect(await take('6', 10, 'b')).toBe(true);
  for (const id of ['2', '4', '5', '6', '7', 'nothing']) await room.release(id);
  expect((await store.list('/q/document-rooms/')).entries).toEqual([]);
});

test('who is refused is told nothing of the documents of others', async () => {
  const room = roomOf();
  await room.reserve('1', 137, ['a']);
  await room.reserve('2', 613, ['b']);
  const refused = (bytes: number, holder: string): Promise<string> =>
    room.reserve('3', bytes, [holder]).then(
      () => '',
      ({ message }: Error) => message,
    );
  const messages = [await refused(500, 'c'), await refused(120, 'b')];
  expect(messages).toEqual([
    expect.stringContaining('all the room that there is'),
    expect.stringContaining('left for all others'),
  ]);
  expect(messages.join(' ')).not.toMatch(/\d/);
});

describe('what is written to the store in some minutes is bounded', () => {
  const MINUTE_MS = 60_000;
  const PART = 128 * 1024;
  let nowMs: number;
  let rooms: DocumentRoom[];
  /** A file that is stored at once, and gone again; each of a collection of its own, if nothing else is said. */
  const passes = async (
    id: string,
    bytes: number,
    stored?: number,
    holders = [`collection:${id}`],
  ): Promise<boolean> => {
    const [one, other] = rooms;
    if (!(await isTaken(one.reserve(id, bytes, holders)))) return false;
    await one.fill(id, bytes, stored);
    await other.release(id);
    return true;
  };

  beforeEach(() => {
    nowMs = 0;
    const clock = { wallMs: () => nowMs };
    const bounds = { filesMax: 100, bytesMax: 100 * PART, writtenMax: 60 * PART };
    rooms = [0, 1].map(() => new DocumentRoom({ store, clock, bounds }));
  });

  test('though nothing of it waits any more, and by what it takes there', async () => {
    // Four bytes of three, where nothing else is said.
    expect(await passes('1', 30 * PART)).toBe(true);
    expect(await passes('2', 15 * PART)).toBe(false);
    expect(await passes('3', 14 * PART, 4 * PART)).toBe(true);
    expect(await passes('4', 10 * PART)).toBe(true);
    expect(await passes('5', 3 * PART)).toBe(false);
    expect((await store.list('/q/document-rooms/')).entries).toEqual([]);
  });

  test('of one that breaks off, by what came of it', async () => {
    const [room] = rooms;
    await room.reserve('1', 40 * PART, ['collection:c']);
    await room.release('1', 3 * PART);
    expect(await passes('2', 40 * PART)).toBe(true);
    expect(await passes('3', 3 * PART)).toBe(false);
  });

  test('until the store has forgotten it', async () => {
    expect(await passes('1', 30 * PART)).toBe(true);
    nowMs += 6 * MINUTE_MS;
    expect(await passes('2', 20 * PART)).toBe(false);
    expect(await passes('3', 10 * PART)).toBe(true);
    nowMs += 5 * MINUTE_MS;
    expect(await passes('4', 33 * PART)).toBe(true);
    expect(await passes('5', 10 * PART)).toBe(false);
    nowMs += 20 * MINUTE_MS;
    expect(await passes('6', 44 * PART)).toBe(true);
  });

  test('and nobody writes more than is left for all others, however long it goes on', async () => {
    const flood = ['collection:flood', 'key:one'];
    let taken = 0;
    for (let second = 0; second < 3_600; second += 20) {
      nowMs = second * 1_000;
      if (await passes(`flood-${second}`, 3 * PART, undefined, flood)) taken += 1;
      expect(await passes(`small-${second}`, 100, undefined, ['collection:small', 'key:two'])).toBe(true);
    }
    // Six of them in two spans are 24 of 60 parts.
    expect(taken).toBeGreaterThan(20);
    const [room] = rooms;
    const refused = room.reserve('more', 20 * PART, flood);
    await expect(refused).rejects.toThrow('of this collection, or of this key, wrote as much');
  });

  test('what holders brought goes once the store has forgotten it', async () => {
    const [room] = rooms;
    const holders = async (): Promise<string[]> =>
      (await store.list('/q/documents-written/')).entries.map(({ key }) => key.slice('/q/documents-written/'.length));
    for (let i = 0; i < 150; i += 1) expect(await passes(`${i}`, 100)).toBe(true);
    nowMs += 6 * MINUTE_MS;
    expect(await passes('late', 100)).toBe(true);
    await room.sweep();
    expect(await holders()).toHaveLength(151);
    nowMs += 5 * MINUTE_MS;
    await room.sweep();
    expect(await holders()).toEqual(['collection:late']);
    // What is remembered of those that went is found out.
    await room.reserve('again', 100, ['collection:0']);
    expect(await holders()).toEqual(['collection:0', 'collection:late']);
  });

  test('though a clock was ahead once: it goes on as soon as that is put right', async () => {
    nowMs = 24 * 60 * MINUTE_MS;
    expect(await passes('ahead', 1)).toBe(true);
    nowMs = 0;
    for (let i = 0; i < 20; i += 1) {
      expect(await passes(`${i}`, 12 * PART)).toBe(true);
      nowMs += 5 * MINUTE_MS;
    }
  });

  test('the record of a job counts where its metadata are large', async () => {
    const [room] = rooms;
    await room.reserve('1', 10, ['collection:c'], true);
    const before = (await room.list()).get('1')!;
    await room.record('1', 500);
    expect((await room.list()).get('1')).toEqual(before);
    await room.record('1', PART);
    expect((await room.list()).get('1')).toEqual({
      ...before,
      bytes: before.bytes + PART,
      written: before.written! + 8 * PART,
    });
    await room.release('1');
    expect((await store.list('/q/document-rooms/')).entries).toEqual([]);
    for (let i = 2; i <= 7; i += 1) {
      await room.reserve(`${i}`, 10, [`collection:${i}`], true);
      await room.record(`${i}`, PART);
      await room.release(`${i}`);
    }
    await room.reserve('8', 10, ['collection:8'], true);
    await expect(room.record('8', PART)).rejects.toMatchObject({ kind: 'overloaded' });
  });

  test('and one file always may be, however large; small ones count with what is noted of them', async () => {
    expect(await passes('huge', 90 * PART)).toBe(true);
    expect(await passes('small', 1)).toBe(false);
    nowMs += 20 * MINUTE_MS;
    let count = 0;
    while (await passes(`small-${count}`, 1)) count += 1;
    expect(count).toBeGreaterThan(500);
    expect(count).toBeLessThan(1_000);
  });
});
