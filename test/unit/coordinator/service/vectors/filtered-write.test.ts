import { ScatterGather } from '../../../../../coordinator/service/routing/scatter-gather';
import { shardOf } from '../../../../../coordinator/service/routing/shard-router';
import { ShardSets } from '../../../../../coordinator/service/routing/shard-sets';
import {
  brokenOff,
  type FilteredWrite,
  writeMatching,
} from '../../../../../coordinator/service/vectors/filtered-write';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { writeMatchingOnce } from '../../../../../coordinator/service/vectors/filtered-write-once';
import type { Filter } from '../../../../../shared/contract/filter/filter';
import type { ShardClient, ShardId, WriteOperation } from '../../../../../shared/contract/shard/shard-client';
import { itemBytes, type ScanRequest, type StoredItem } from '../../../../../shared/contract/shard/shard-read';
import { systemClock } from '../../../../../shared/base/time/clock';

/** What a write by filter asks shards for at once. */

const SHARDS = 3;
const collection = { uid: 'c', identity: 'c', name: 'c', shards: SHARDS, dim: 2 };
const MIB = 1024 * 1024;
const write: FilteredWrite = {
  filter: {} as Filter,
  done: 'deleted',
  operationOf: (externalId) => ({ type: 'delete', externalId }),
};

/** Shards of items with 64 KiB of metadata each; `most`: the bytes that all of them answered at once. */
function shardsOf(count: number) {
  const metadata = JSON.stringify({ text: 'x'.repeat(64 * 1024) });
  const all = Array.from(
    { length: count },
    (_, n): StoredItem => ({ externalId: `i${n}`, stamp: n + 1, metadata, text: null }) as StoredItem,
  );
  const found = { most: 0, deleted: [] as string[], reads: 0 };
  let held = 0;
  const read = async (
    { shard }: ShardId,
    kind: string,
    { after, limit, bytesMax = Infinity }: ScanRequest,
  ): Promise<unknown> => {
    if (kind === 'marks') return [];
    const page: StoredItem[] = [];
    let bytes = 0;
    for (const item of all) {
      if (shardOf(item.externalId, SHARDS) !== shard || (after !== null && item.stamp <= after.stamp)) continue;
      if (page.length === limit || bytes >= bytesMax) break;
      page.push(item);
      bytes += itemBytes(item);
    }
    found.reads += 1;
    held = found.reads % SHARDS === 1 ? bytes : held + bytes;
    found.most = Math.max(found.most, held);
    return page;
  };
  const send = async (_: ShardId, operations: WriteOperation[]): Promise<unknown> => {
    for (const operation of operations) if (operation.type === 'delete') found.deleted.push(operation.externalId);
    return {
      outcomes: operations.map(({ type }) => (type === 'delete' ? 'deleted' : 'updated')),
      firstVersion: 0,
      present: [],
    };
  };
  const scatter = new ScatterGather({ clock: systemClock, timeoutMs: 10_000, uidOf: async () => 'c' });
  const sets = new ShardSets({
    catalog: { known: () => collection, find: async () => collection },
    clock: systemClock,
  });
  return {
    found,
    parts: { shards: { read, write: send } as unknown as ShardClient, scatter, sets, clock: systemClock },
  };
}

test.each(['as it comes', 'once'])(
  '%s: metadata of 65 MB are found in parts of some 16 MiB, and everything is dealt with',
  async (how) => {
    const { found, parts } = shardsOf(1_000);
    const call = parts.scatter.begin();
    const once = {
      token: '1'.repeat(32),
      digest: '2'.repeat(32),
      sealingKey: 'a'.repeat(64),
      repeated: () => undefined,
    };
    const { done } = await (how === 'once'
      ? writeMatchingOnce(parts, collection, write, call, once)
      : writeMatching(parts, collection, write, call));
    expect(done).toBe(1_000);
    expect([...found.deleted].sort()).toEqual(Array.from({ length: 1_000 }, (_, n) => `i${n}`).sort());
    expect(found.most).toBeLessThan(17 * MIB);
  },
);

test('a shard whose last page ends at its bytes is asked once more, and has nothing', async () => {
  const { found, parts } = shardsOf(0);
  expect((await writeMatching(parts, collection, write, parts.scatter.begin())).done).toBe(0);
  expect(found.reads).toBe(SHARDS);
});

test('what broke off by a refusal says what was done, and is not to be repeated', () => {
  const write = { done: 'updated' } as unknown as Parameters<typeof brokenOff>[2];
  expect(brokenOff(new QuiverError('invalid_parameter', 'not so'), 3, write)).toMatchObject({
    kind: 'invalid_parameter',
    message: '3 vectors were updated, then: not so',
  });
  expect(brokenOff(new QuiverError('unavailable', 'gone'), 3, write)).toMatchObject({
    kind: 'commit_unknown',
    message: '3 vectors were updated, then: gone; repeat the call for the rest',
  });
});
