import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rebuiltCollections } from '../../../embedded/rebuilt-collections';
import { RocksKeyValueStore } from '../../../node/engine/kv/rocks-key-value-store';
import { shardOf } from '../../../shared/contract/shard/shard-of';
import type { ShardSpec } from '../../../shared/contract/shard/shard-client';
import { NO_HURRY, openRocksStore, plainFactories, ShardNode } from '../../support/shards/shard-node';

/** Collections that are listed again by what their shards say, where no note lies beside them. */

const SHARDS = 2;
const idIn = (shard: number): string =>
  Array.from({ length: 100 }, (_, n) => `i${n}`).find((id) => shardOf(id, SHARDS) === shard)!;
const specOf = (collectionUid: string, shard: number): ShardSpec => ({
  collectionUid,
  shard,
  dim: 3,
  metric: 'l2',
  language: 'en',
  keywordFields: [{ path: 'title', weight: 2 }],
});

let dataDir: string;
beforeEach(() => (dataDir = mkdtempSync(join(tmpdir(), 'quiver-rebuilt-'))));
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

test('one of which nobody has written to a shard is listed; one to which nobody has written is not', async () => {
  const node = new ShardNode({
    factories: plainFactories,
    openStore: openRocksStore,
    folder: join(dataDir, 'node'),
    rests: { afterMs: 3_600_000, openMax: 8 },
  });
  await node.start();
  for (const uid of ['first', 'last', 'none'])
    for (let shard = 0; shard < SHARDS; shard += 1) await node.client.make(specOf(uid, shard));
  for (const [uid, shard] of [
    ['first', 0],
    ['last', 1],
  ] as const)
    await node.client.write(
      specOf(uid, shard),
      [
        {
          type: 'upsert',
          externalId: idIn(shard),
          vector: Float32Array.of(1, 2, 3),
          stamp: 5,
          metadata: '{}',
          text: undefined,
        },
      ],
      NO_HURRY,
    );
  await node.stop();
  // Records that a crash left when they had only been begun.
  const begun = await RocksKeyValueStore.open(join(dataDir, 'node', 'shards', 'last', '0', 'records'));
  await begun.close();
  const { listed, leftOut } = await rebuiltCollections(dataDir, '2026-01-01T00:00:00.000Z');
  expect(listed.map(({ record }) => record)).toMatchObject(
    ['first', 'last'].map((uid) => ({
      uid,
      shards: SHARDS,
      dim: 3,
      metric: 'l2',
      language: 'en',
      keywordFields: [{ path: 'title', weight: 2 }],
    })),
  );
  expect(leftOut).toEqual([
    {
      uid: 'none',
      why: 'it is empty (2 shards, dim 3, l2), and no note lies beside it: create it again where it is missed',
    },
  ]);
});
