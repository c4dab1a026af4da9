import type { MetadataPatch } from '../../../../../../shared/contract/shard/shard-client';
import { NO_HURRY, openMemoryStore, plainFactories, ShardNode } from '../../../../../support/shards/shard-node';

// Through the whole shard: what is checked is node/engine/shard/writing/checked-write.ts, what is claimed
// node/engine/shard/reading/field-budget.ts.
test('metadata that replace what is there claim fields that are null, too', async () => {
  const node = await new ShardNode({ factories: plainFactories, openStore: openMemoryStore, fieldsMax: 1 }).start();
  const id = { collectionUid: 'c', shard: 0 };
  const patch = (json: string, replaces: boolean) => {
    const metadata: MetadataPatch = { json, replaces, bytesMax: 1_000, fieldsMax: 10 };
    return node.client.write(
      id,
      [{ type: 'patch', externalId: 'item', vector: undefined, text: undefined, metadata }],
      NO_HURRY,
    );
  };
  const metadataNow = async () =>
    (await node.client.read(id, 'fetch', { externalIds: ['item'], vectors: false }, NO_HURRY))[0]?.metadata;
  try {
    await node.client.make({ ...id, dim: 2, metric: 'l2' });
    await node.client.write(
      id,
      [
        {
          type: 'upsert',
          externalId: 'item',
          vector: Float32Array.of(1, 2),
          stamp: 1,
          metadata: '{"known":1}',
          text: undefined,
        },
      ],
      NO_HURRY,
    );
    await expect(patch('{"new":null}', true)).rejects.toMatchObject({ kind: 'limit_exceeded' });
    expect(await metadataNow()).toBe('{"known":1}');
    await patch('{"known":null}', true);
    expect(await metadataNow()).toBe('{"known":null}');
    // This takes away what is not there.
    await patch('{"new":null}', false);
    expect(await metadataNow()).toBe('{"known":null}');
  } finally {
    await node.destroy();
  }
});
