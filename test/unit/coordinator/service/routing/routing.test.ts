import { ScatterGather } from '../../../../../coordinator/service/routing/scatter-gather';
import {
  groupByShard,
  hashExternalId,
  inCallOrder,
  shardOf,
} from '../../../../../coordinator/service/routing/shard-router';
import { QuiverError, type ErrorKind } from '../../../../../shared/base/errors/quiver-error';
import { systemClock } from '../../../../../shared/base/time/clock';

/** MurmurHash3_x86_32, seed 0, as its reference code reads: bytes in, big numbers, nothing clever. */
function referenceHash(bytes: Buffer): number {
  const mask = 0xffffffffn;
  const rotate = (x: bigint, by: bigint): bigint => ((x << by) | (x >> (32n - by))) & mask;
  const scramble = (k: bigint): bigint => (rotate((k * 0xcc9e2d51n) & mask, 15n) * 0x1b873593n) & mask;
  const whole = bytes.length - (bytes.length % 4);
  let hash = 0n;
  for (let i = 0; i < whole; i += 4)
    hash = (rotate(hash ^ scramble(BigInt(bytes.readUInt32LE(i))), 13n) * 5n + 0xe6546b64n) & mask;
  const tail = [...bytes.subarray(whole)].reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  if (bytes.length > whole) hash ^= scramble(tail);
  hash ^= BigInt(bytes.length);
  hash = ((hash ^ (hash >> 16n)) * 0x85ebca6bn) & mask;
  hash = ((hash ^ (hash >> 13n)) * 0xc2b2ae35n) & mask;
  return Number(hash ^ (hash >> 16n));
}

describe('the shard of an item', () => {
  test('follows the published MurmurHash3 vectors', () => {
    expect(hashExternalId('')).toBe(0);
    expect(hashExternalId('\u4321\u8765')).toBe(0xf55b516b);
    expect(hashExternalId('\u4321')).toBe(0xa0f7b07a);
    expect(hashExternalId('\0\0')).toBe(0x2362f9de);
    expect(hashExternalId('\0')).toBe(0x30f4c306);
    expect(hashExternalId('\u6574\u7473')).toBe(0xba6bd213);
  });

  test('never changes: stored items are found by it', () => {
    const ids = ['a', 'doc-1', 'doc-2', 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6-chunk-0', 'naïve/ü', '漢字', '🙂', '..'];
    expect(ids.map((id) => [id, hashExternalId(id), shardOf(id, 3), shardOf(id, 8)])).toEqual([
      ['a', 1867108634, 2, 2],
      ['doc-1', 43139562, 0, 2],
      ['doc-2', 59873980, 1, 4],
      ['f81d4fae-7dec-11d0-a765-00a0c91e6bf6-chunk-0', 937761606, 0, 6],
      ['naïve/ü', 1525458601, 1, 1],
      ['漢字', 3162241253, 2, 5],
      ['🙂', 443350068, 0, 4],
      ['..', 152713841, 2, 1],
    ]);
  });

  test('agrees with the reference code over UTF-16LE, lone surrogates too', () => {
    for (let length = 0; length < 40; length += 1) {
      const id = Array.from({ length }, (_, i) => String.fromCharCode((i * 7919 + length * 104_729) & 0xffff)).join('');
      expect(hashExternalId(id)).toBe(referenceHash(Buffer.from(id, 'utf16le')));
    }
    expect(hashExternalId('\ud83d')).not.toBe(hashExternalId('\ude42'));
  });

  test.each([3, 8, 256])('is spread evenly over %i shards, numbered ids included', (shardCount) => {
    const counts = new Array<number>(shardCount).fill(0);
    const total = 100_000;
    for (let i = 0; i < total; i += 1) counts[shardOf(`item-${i}`, shardCount)] += 1;
    const expected = total / shardCount;
    const chiSquare = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    // Mean is shardCount − 1, deviation √(2 (shardCount − 1)): four deviations above the mean.
    expect(chiSquare).toBeLessThan(shardCount - 1 + 4 * Math.sqrt(2 * (shardCount - 1)));
  });
});

test('a call is split by shard in its order and put together again', () => {
  const ids = Array.from({ length: 200 }, (_, i) => `id-${i % 60}`);
  const groups = groupByShard(ids, 7, (id) => id);
  expect(groups.map((group) => group.shard)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  for (const group of groups) {
    expect(group.items).toEqual(ids.filter((id) => shardOf(id, 7) === group.shard));
    expect(group.items).toEqual(group.positions.map((position) => ids[position]));
  }
  expect(
    inCallOrder(
      groups,
      groups.map((group) => group.items.map((id) => `answer ${id}`)),
    ),
  ).toEqual(ids.map((id) => `answer ${id}`));
});

describe('scatter and gather', () => {
  const collection = { uid: 'u', name: 'books', shards: 4 };
  const gatherer = (options: { timeoutMs?: number; exists?: boolean; uid?: string } = {}): ScatterGather =>
    new ScatterGather({
      clock: systemClock,
      timeoutMs: options.timeoutMs ?? 10_000,
      uidOf: async () => (options.exists === false ? null : (options.uid ?? 'u')),
    });
  const failing = (kinds: Record<number, ErrorKind>) => async (id: { shard: number }) => {
    if (id.shard in kinds) throw new QuiverError(kinds[id.shard], `shard ${id.shard} says ${kinds[id.shard]}`);
    return id.shard;
  };
  const readAll = (scatter: ScatterGather, ask: (id: { shard: number }) => Promise<unknown>) =>
    scatter.readAll(collection, scatter.begin(), ask);

  test('asks all shards at once and answers in their order', async () => {
    const waiting: (() => void)[] = [];
    const answers = readAll(gatherer(), (id) => new Promise((resolve) => waiting.push(() => resolve(id.shard))));
    expect(waiting).toHaveLength(4);
    for (const answer of waiting.reverse()) answer();
    expect(await answers).toEqual([0, 1, 2, 3]);
  });

  test('names the missing shards in one retryable error', async () => {
    await expect(readAll(gatherer(), failing({ 3: 'unavailable', 1: 'unavailable' }))).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'shards 1, 3 of 4 of collection "books" are unavailable; the call may be retried',
      details: { missingShards: [1, 3] },
    });
  });

  test('names the shards that do not answer by the deadline', async () => {
    const hanging = (id: { shard: number }): Promise<unknown> =>
      id.shard === 2 ? new Promise(() => undefined) : Promise.resolve();
    await expect(readAll(gatherer({ timeoutMs: 30 }), hanging)).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'shard 2 of 4 of collection "books" is unavailable; the call may be retried',
    });
  });

  test('a failure that comes after the deadline is nobody’s any more', async () => {
    let fail: (error: Error) => void = () => undefined;
    const late = readAll(gatherer({ timeoutMs: 10 }), () => new Promise((_, reject) => (fail = reject)));
    await expect(late).rejects.toMatchObject({ kind: 'unavailable' });
    fail(new Error('too late'));
    await new Promise((resolve) => setImmediate(resolve));
  });

  test('a shard gone with its collection is a collection not found', async () => {
    const gone = readAll(gatherer({ exists: false }), failing({ 0: 'not_found', 2: 'unavailable' }));
    await expect(gone).rejects.toMatchObject({ kind: 'not_found', message: 'collection "books" does not exist' });
  });

  test('a shard gone from a collection that is there is missing', async () => {
    await expect(readAll(gatherer({ exists: true }), failing({ 0: 'not_found' }))).rejects.toMatchObject({
      kind: 'unavailable',
      details: { missingShards: [0] },
    });
  });

  test('an error that is not about reach is passed on, lowest shard first', async () => {
    await expect(
      readAll(gatherer(), failing({ 0: 'unavailable', 3: 'storage_failed', 2: 'overloaded' })),
    ).rejects.toMatchObject({
      kind: 'overloaded',
      message: 'shard 2 says overloaded',
    });
  });

  test('what a disk says is told with the shard and the collection', async () => {
    await expect(readAll(gatherer(), failing({ 2: 'storage_failed', 3: 'storage_failed' }))).rejects.toMatchObject({
      kind: 'storage_failed',
      message: `shard 2 of ${collection.shards} of collection "${collection.name}": shard 2 says storage_failed`,
    });
  });

  test.each<[string, Record<number, ErrorKind>, ErrorKind]>([
    ['applied elsewhere', { 1: 'unavailable' }, 'commit_unknown'],
    ['refused everywhere', { 1: 'unavailable', 2: 'unavailable' }, 'unavailable'],
    ['unknown to its shard', { 1: 'commit_unknown', 2: 'unavailable' }, 'commit_unknown'],
  ])('a failed write that is %s', async (_, kinds, kind) => {
    const scatter = gatherer();
    await expect(scatter.write(collection, [1, 2], scatter.begin(), failing(kinds))).rejects.toMatchObject({
      kind,
      message: expect.stringContaining('the call may be retried'),
    });
  });

  test('fails only after the last shard has settled, so nothing of a failed write follows', async () => {
    let release: () => void = () => undefined;
    const steps: string[] = [];
    const scatter = gatherer();
    const write = scatter
      .write(collection, [0, 1], scatter.begin(), async (id) => {
        if (id.shard === 0) throw new QuiverError('unavailable', 'down');
        await new Promise<void>((resolve) => (release = resolve));
        steps.push('slow shard written');
      })
      .catch(() => steps.push('write failed'));
    await new Promise((resolve) => setImmediate(resolve));
    release();
    await write;
    expect(steps).toEqual(['slow shard written', 'write failed']);
  });
});
