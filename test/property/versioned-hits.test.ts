import type { SearchRequest } from '../../coordinator/service/search-request';
import type { RunningService } from '../../coordinator/service-factory';
import type { ShardClient } from '../../shared/contract/shard/shard-client';
import type { Hit } from '../../shared/contract/shard/shard-read';
import { newCollection, plainService } from '../support/shards/plain-service';
import { openMemoryStore, plainFactories, ShardNode } from '../support/shards/shard-node';
import { fused, nearest } from '../support/stories/search-forms';
import { runSeed, seededRandom } from '../support/values/random';

/** Hits with versions, of items that change between the search and whatever is read of its hits. */

const ITEMS = 60;
const K = 10;
const seed = runSeed('versioned-hits');

let nodes: ShardNode[] = [];

afterEach(async () => {
  for (const node of nodes) await node.destroy();
  nodes = [];
});

/** A service whose shards call `found` once with the hits that one of them found, before these are answered. */
async function storyOf(shards: number) {
  const node = await new ShardNode({ factories: plainFactories, openStore: openMemoryStore }).start();
  nodes.push(node);
  const { client } = node;
  let found: ((hits: readonly Hit[]) => Promise<void>) | null = null;
  const shardClient: ShardClient = {
    make: (spec) => client.make(spec),
    open: (spec) => client.open(spec),
    drop: (id) => client.drop(id),
    write: (id, operations, call) => client.write(id, operations, call),
    read: async (id, kind, request, call) => {
      const answer = await client.read(id, kind, request, call);
      const hits =
        kind === 'search' ? (answer as { hits: Hit[] }).hits : kind === 'keywordSearch' ? (answer as Hit[]) : [];
      if (found === null || hits.length < 2) return answer;
      const told = found;
      found = null;
      await told(hits);
      return answer;
    },
  };
  const { service } = await plainService({ shardClient });
  await service.collections.create(newCollection('c', { dim: 3, metric: 'cosine', shards }));
  const random = seededRandom(seed + shards);
  const items = Array.from({ length: ITEMS }, (_, i) => ({
    externalId: `i${i}`,
    source: { vector: Float32Array.from({ length: 3 }, () => random() + 0.1) },
    metadata: JSON.stringify({ n: 1, kind: i % 30 }),
    text: 'red stone',
  }));
  const { versions } = await service.vectors.upsert('c', items);
  const versionOf = new Map(items.map(({ externalId }, i) => [externalId, versions[i]]));
  return { service, items, versionOf, whenFound: (listener: typeof found) => (found = listener) };
}

const source = { vector: Float32Array.of(1, 0.5, 0.2) };
const filter = { type: 'equals' as const, path: 'n', value: 1 };
const FORMS: Record<string, SearchRequest> = {
  plain: nearest({ source, filter, k: K }),
  fused: fused({ queryText: 'red', vector: source.vector, filter, k: K }),
  first: nearest({ source, filter, k: K, cursor: { text: null, secondsMax: 300 } }),
  fusedFirst: fused({ queryText: 'red', vector: source.vector, filter, k: K, cursor: { text: null, secondsMax: 300 } }),
  differing: nearest({ source, filter, k: K, diversity: { type: 'field', path: 'kind', atMost: 2 } }),
  boosted: nearest({
    source,
    filter,
    k: K,
    boosts: {
      mode: 'multiply',
      parts: [{ type: 'filter', filter: { type: 'equals', path: 'kind', value: 3 }, weight: 2 }],
    },
  }),
};

/** One hit is deleted, and the other one does not pass the filter any more. */
async function changed(service: RunningService, [gone, other]: readonly Hit[]): Promise<void> {
  await service.vectors.delete('c', [gone.externalId]);
  const source = { vector: Float32Array.of(1, 0, 0) };
  await service.vectors.upsert('c', [{ externalId: other.externalId, source, metadata: '{"n":2}', text: 'green' }]);
}

test.each([1, 2, 5].flatMap((shards) => Object.keys(FORMS).map((form) => [shards, form] as const)))(
  'of %i shards, a page of %s is full, each hit with the version that it was found in',
  async (shards, form) => {
    const { service, versionOf, whenFound } = await storyOf(shards);
    const request = FORMS[form];
    const asked = { ...request, output: { ...request.output, versions: true } };
    let changes = 0;
    whenFound(async (hits) => {
      changes += 1;
      await changed(service, hits);
    });
    const { hits, later } = await service.search.search('c', asked);
    expect(changes).toBe(1);
    expect(later).toBeUndefined();
    expect(hits).toHaveLength(K);
    for (const { externalId, version, metadata } of hits) {
      expect([externalId, version]).toEqual([externalId, versionOf.get(externalId)]);
      expect(JSON.parse(metadata)).toMatchObject({ n: 1 });
    }
  },
);
