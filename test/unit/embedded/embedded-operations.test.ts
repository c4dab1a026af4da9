import { EmbeddedOperations } from '../../../embedded/embedded-operations';
import type { ShardStatus } from '../../../shared/contract/shard/shard-read';
import { ManualClock } from '../../support/manual-clock';

const status = (vectorCount: number): ShardStatus => ({
  vectorCount,
  lastOperation: 9,
  lastStamp: 1,
  diskBytes: 100,
  memoryBytes: 50,
  segments: [],
  index: null,
});

function operationsOf(): { clock: ManualClock; operations: EmbeddedOperations } {
  const clock = new ManualClock(Date.UTC(2024, 4, 6, 7, 8, 9));
  const operations = new EmbeddedOperations({
    process: { coordinatorId: 'coordinator-1', nodeId: 'node-1', address: '127.0.0.1:8000', zone: 'local', pid: 4711 },
    clock,
    collections: async () => [
      { name: 'books', vectorCount: 5, dim: 3, unavailableShards: [] },
      { name: 'films', vectorCount: 2, dim: 8, unavailableShards: [] },
    ],
    shards: async () => [
      { collection: 'books', collectionUid: 'u1', shard: 0, status: status(3) },
      { collection: 'books', collectionUid: 'u1', shard: 1, status: status(2) },
      { collection: 'films', collectionUid: 'u2', shard: 0, status: null },
    ],
    newShards: async () => [
      { collection: 'books', shard: 0, vectors: 4 },
      { collection: 'books', shard: 1, vectors: null },
    ],
    reshards: async () => [],
    embedding: () => ({ configured: 'a', active: 'builtin', fallbackReason: 'no network', dim: null, models: [] }),
    rerankModels: [],
  });
  return { clock, operations };
}

describe('the embedded form as a cluster of one', () => {
  test('health adds up the collections and counts its uptime by the monotonic clock', async () => {
    const { clock, operations } = operationsOf();
    clock.advance(90_500);
    expect(await operations.health()).toEqual({
      totalVectors: 7,
      totalCollections: 2,
      uptimeSeconds: 90.5,
      rerankModels: [],
      collections: [
        { name: 'books', vectorCount: 5, dim: 3, unavailableShards: [] },
        { name: 'films', vectorCount: 2, dim: 8, unavailableShards: [] },
      ],
      embedding: { configured: 'a', active: 'builtin', fallbackReason: 'no network', dim: null, models: [] },
    });
  });

  test('the cluster has one coordinator, one node, and every shard on it', async () => {
    const { clock, operations } = operationsOf();
    clock.advance(1000);
    const onNode = {
      epoch: 1,
      primary: 'node-1',
      inSync: ['node-1'],
      learners: [],
      lagOperations: { 'node-1': 0 },
      laterEpoch: null,
    };
    expect(await operations.cluster()).toEqual({
      mode: 'embedded',
      controller: 'coordinator-1',
      coordinators: [
        { id: 'coordinator-1', address: '127.0.0.1:8000', pid: 4711, startedAt: '2024-05-06T07:08:09.000Z' },
      ],
      nodes: [
        {
          id: 'node-1',
          address: '127.0.0.1:8000',
          zone: 'local',
          pid: 4711,
          state: 'up',
          downSince: null,
          primaries: 3,
          replicas: 0,
          vectors: 5,
          diskBytes: 200,
        },
      ],
      shards: [
        { collection: 'books', shard: 0, ...onNode, state: 'ok', vectors: 3, lastOperation: 9 },
        { collection: 'books', shard: 1, ...onNode, state: 'ok', vectors: 2, lastOperation: 9 },
        { collection: 'films', shard: 0, ...onNode, state: 'unavailable', vectors: 0, lastOperation: 0 },
      ],
      newShards: [
        { collection: 'books', shard: 0, ...onNode, state: 'ok', vectors: 4, lastOperation: 0 },
        { collection: 'books', shard: 1, ...onNode, state: 'unavailable', vectors: 0, lastOperation: 0 },
      ],
      moves: [],
      reshards: [],
    });
  });

  test('the only node cannot be drained, and is up when undrained', async () => {
    const { operations } = operationsOf();
    await expect(operations.drain('node-1')).rejects.toMatchObject({
      kind: 'invalid_parameter',
      message: expect.stringContaining('nowhere to move'),
    });
    expect(await operations.undrain('node-1')).toMatchObject({ id: 'node-1', state: 'up' });
    await expect(operations.drain('node-2')).rejects.toMatchObject({ kind: 'not_found' });
    await expect(operations.undrain('node-2')).rejects.toMatchObject({ kind: 'not_found' });
  });
});
