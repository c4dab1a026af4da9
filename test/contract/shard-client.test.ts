import { PlainShardClient } from '../support/shards/plain-shard-client';
import {
  ShardNode,
  diskFactories,
  nativeFactories,
  openMemoryStore,
  openRocksStore,
  plainFactories,
} from '../support/shards/shard-node';
import { describeShardClient } from './shard-client.contract';

async function local(parts: ConstructorParameters<typeof ShardNode>[0]) {
  const node = await new ShardNode(parts).start();
  return { client: node.client, close: () => node.destroy() };
}

describeShardClient('plain', async () => ({ client: new PlainShardClient(), close: async () => undefined }), {
  isBounded: false,
});
describeShardClient('local, in memory, vectors compared one by one', () =>
  local({ factories: plainFactories, openStore: openMemoryStore }),
);
describeShardClient('local, on RocksDB and the native graph', () =>
  local({ factories: nativeFactories, openStore: openRocksStore }),
);
describeShardClient(
  'local, on RocksDB and the native graph, metadata on the disk',
  () => local({ factories: nativeFactories, openStore: openRocksStore }),
  { metadata: 'disk' },
);
describeShardClient(
  'local, on RocksDB and an index of segments on the disk',
  () => local({ factories: diskFactories, openStore: openRocksStore }),
  { vectors: 'disk' },
);
