import type { OrderKey } from '../../coordinator/service/search-request';
import type { VectorInput, VectorView } from '../../coordinator/service/service';
import type { Filter, JsonObject, JsonValue, Scalar } from '../../shared/contract/filter/filter';
import { lookUpPath } from '../../shared/contract/filter/metadata-path';
import { newCollection, plainService } from '../support/shards/plain-service';
import { graphFactories, openMemoryStore, ShardNode } from '../support/shards/shard-node';
import { runSeed, seededRandom } from '../support/values/random';

/** Scrolls in an order, against all items sorted. */

const DIM = 2;
const seed = runSeed('ordered-scroll');
const KINDS = ['number', 'string', 'boolean'];

let nodes: ShardNode[] = [];

afterEach(async () => {
  for (const node of nodes) await node.destroy();
  nodes = [];
});

function compare(a: Scalar, b: Scalar): number {
  const [kindA, kindB] = [KINDS.indexOf(typeof a), KINDS.indexOf(typeof b)];
  return kindA - kindB || (a! < b! ? -1 : a! > b! ? 1 : 0);
}

function valueOf(metadata: JsonObject, { field, descending }: OrderKey): Scalar | undefined {
  const values = [lookUpPath(metadata, field)].flat().filter((one) => KINDS.includes(typeof one)) as Scalar[];
  return values.sort(compare).at(descending ? -1 : 0);
}

function sorted(items: ReadonlyMap<string, JsonObject>, keys: readonly OrderKey[]): string[] {
  const entries = [...items].sort(([idA, a], [idB, b]) => {
    for (const key of keys) {
      const [one, other] = [valueOf(a, key), valueOf(b, key)];
      if (one === undefined && other === undefined) continue;
      if (one === undefined || other === undefined) return (one === undefined) === key.missingFirst ? -1 : 1;
      const order = compare(one, other);
      if (order !== 0) return key.descending ? -order : order;
    }
    return idA < idB ? -1 : 1;
  });
  return entries.map(([id]) => id);
}

async function run(round: number, shards: number): Promise<string[][]> {
  const random = seededRandom(seed + round);
  const below = (bound: number): number => Math.floor(random() * bound);
  const pick = <T>(values: readonly T[]): T => values[below(values.length)];
  const node = await new ShardNode({ factories: graphFactories('int8'), openStore: openMemoryStore }).start();
  nodes.push(node);
  const { service } = await plainService({ shardClient: node.client });
  await service.collections.create(newCollection('c', { dim: DIM, metric: 'cosine', shards }));
  const long = 'x'.repeat(128);
  const scalars: JsonValue[] = [
    0,
    -0,
    1,
    2.5,
    -7,
    '1',
    '',
    'é',
    '\ud800',
    '\ue000',
    '😀',
    `${long}`,
    true,
    false,
    null,
  ];
  const value = (): JsonValue =>
    below(4) === 0
      ? Array.from({ length: below(4) }, () => pick(scalars))
      : pick<JsonValue>([...scalars, { d: 1 }, below(50)]);
  const items = new Map<string, JsonObject>();
  const write = async (count: number): Promise<string[]> => {
    const ids = [...new Set(Array.from({ length: count }, () => `item-${below(260)}`))];
    const inputs = ids.map((externalId): VectorInput => {
      const metadata: JsonObject = { n: below(4) };
      if (below(5) > 0) metadata.a = value();
      if (below(2) === 0) metadata.in = { deep: value() };
      items.set(externalId, metadata);
      return {
        externalId,
        source: { vector: Float32Array.from([1, random()]) },
        metadata: JSON.stringify(metadata),
        text: 'a',
      };
    });
    await service.vectors.upsert('c', inputs);
    const gone = Array.from({ length: Math.ceil(count / 10) }, () => `item-${below(260)}`);
    await service.vectors.delete('c', gone);
    for (const id of gone) items.delete(id);
    return [...ids, ...gone];
  };
  await write(300);
  const told: string[][] = [];
  for (let i = 0; i < 10; i += 1) {
    const keys = Array.from({ length: 1 + below(3) }, (): OrderKey => ({
      field: pick(['a', 'in.deep', 'n', 'nowhere']),
      descending: below(2) === 0,
      missingFirst: below(2) === 0,
    }));
    const filter: Filter | null = below(2) === 0 ? null : { type: 'in', path: 'n', values: [0, 1] };
    const passes = (): Map<string, JsonObject> =>
      new Map([...items].filter(([, { n }]) => filter === null || n === 0 || n === 1));
    const before = passes();
    const touched = new Set<string>();
    const given: string[] = [];
    let cursor: string | null = null;
    do {
      const page: { pages: AsyncIterable<VectorView[]>; nextCursor: () => string | null } =
        await service.vectors.scroll('c', {
          cursor,
          limit: pick([1, 7, 50, 300]),
          filter,
          vectors: false,
          order: keys,
        });
      for await (const views of page.pages) for (const { externalId } of views) given.push(externalId);
      cursor = page.nextCursor();
      if (i % 2 === 1 && given.length < 100) for (const id of await write(8)) touched.add(id);
    } while (cursor !== null);
    const unchanged = (id: string): boolean => !touched.has(id);
    expect(given.filter(unchanged)).toEqual(sorted(before, keys).filter(unchanged));
    told.push(given);
  }
  return told;
}

test('every item that stays comes once, in the order of its values, over 1, 2 and 5 shards', async () => {
  const one = await run(1, 1);
  expect(await run(1, 2)).toEqual(one);
  expect(await run(1, 5)).toEqual(one);
  expect(one.flat().length).toBeGreaterThan(1_000);
}, 120_000);
