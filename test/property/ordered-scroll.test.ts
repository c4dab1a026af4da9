import type { VectorInput, VectorView } from '../../coordinator/service/service';
import { Directory } from '../../node/engine/directory/directory';
import { SlotAllocator } from '../../node/engine/directory/slot-allocator';
import type { FilterIndex } from '../../node/engine/filter/filter-index';
import { MemoryFilterIndex } from '../../node/engine/filter/memory-filter-index';
import { orderedPlaces } from '../../node/engine/shard/reading/ordered-places';
import { ChunkedSlotSet } from '../../node/engine/slots/chunked-slot-set';
import type { Filter, JsonObject, JsonValue, Scalar } from '../../shared/contract/filter/filter';
import type { OrderAnswer, OrderKey, OrderPlace, OrderRequest } from '../../shared/contract/shard/item-order';
import { lookUpPath } from '../../shared/contract/filter/metadata-path';
import { newCollection, plainService } from '../support/shards/plain-service';
import { graphFactories, openMemoryStore, ShardNode } from '../support/shards/shard-node';
import { eventually } from '../support/eventually';
import { runSeed, seededRandom } from '../support/values/random';
import { sliceAfter } from '../support/values/stepping-clock';

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

/** Chance, and what it makes: values of all kinds, many of them equal. */
function drawing(round: number) {
  const random = seededRandom(seed + round);
  const below = (bound: number): number => Math.floor(random() * bound);
  const pick = <T>(values: readonly T[]): T => values[below(values.length)];
  const long = 'x'.repeat(128);
  const scalars: JsonValue[] = [0, -0, 1, 2.5, -7, '1', '', 'é', '\ud800', '\ue000', '😀', long, true, false, null];
  const value = (): JsonValue =>
    below(4) === 0
      ? Array.from({ length: below(4) }, () => pick(scalars))
      : pick<JsonValue>([...scalars, { d: 1 }, `${long}y`, below(50)]);
  const metadata = (): JsonObject => {
    const made: JsonObject = { n: below(4) };
    if (below(5) > 0) made.a = value();
    if (below(2) === 0) made.in = { deep: value() };
    if (below(6) === 0) made['in.deep'] = value();
    return made;
  };
  const keys = (): OrderKey[] =>
    Array.from({ length: 1 + below(3) }, () => ({
      field: pick(['a', 'in.deep', 'n', 'nowhere']),
      descending: below(2) === 0,
      missingFirst: below(2) === 0,
    }));
  return { random, below, pick, metadata, keys };
}

async function run(round: number, shards: number): Promise<string[][]> {
  const { random, below, pick, metadata: drawn, keys: drawnKeys } = drawing(round);
  const node = await new ShardNode({ factories: graphFactories('int8'), openStore: openMemoryStore }).start();
  nodes.push(node);
  const { service } = await plainService({ shardClient: node.client });
  await service.collections.create(newCollection('c', { dim: DIM, metric: 'cosine', shards }));
  const items = new Map<string, JsonObject>();
  const write = async (count: number): Promise<string[]> => {
    const ids = [...new Set(Array.from({ length: count }, () => `item-${below(260)}`))];
    const inputs = ids.map((externalId): VectorInput => {
      const metadata = drawn();
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
    const keys = drawnKeys();
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
});

type OrderBounds = Parameters<typeof orderedPlaces>[2];

describe('a walk through the lists of values', () => {
  /** A shard's items, in the lists of a filter index but for those of `unlisted`. */
  class Items {
    readonly directory = new Directory();
    readonly byId = new Map<string, JsonObject>();
    private readonly slots = new SlotAllocator();
    private readonly unlisted = new ChunkedSlotSet();
    private index = new MemoryFilterIndex({ metadataOf: (slot) => this.metadataOf(slot) });

    /** The lists, which lack some items. */
    get filters(): FilterIndex {
      return Object.create(this.index, { unlistedSlots: { value: this.unlisted } }) as FilterIndex;
    }

    /** As a restart does. */
    loadAgain(): void {
      const saved = Buffer.concat([...this.index.save()]);
      this.index = MemoryFilterIndex.load(saved, { metadataOf: (slot) => this.metadataOf(slot) });
    }

    put(externalId: string, metadata: JsonObject, isListed = true): void {
      const slot = this.slots.allocate();
      this.remove(externalId, slot);
      const text = JSON.stringify(metadata);
      this.directory.put(slot, { externalId, recno: 1, stamp: 1, version: 1, metadata: text, hasText: false });
      if (isListed) this.index.put(slot, metadata);
      else this.unlisted.add(slot);
      this.byId.set(externalId, metadata);
    }

    /** `successor`: where it has moved. */
    remove(externalId: string, successor?: number): void {
      const slot = this.directory.storedSlotOf(externalId);
      if (slot < 0) return;
      if (!this.unlisted.remove(slot) && !this.directory.isHidden(slot)) this.index.remove(slot, this.metadataOf(slot));
      this.directory.remove(slot);
      this.slots.release([slot], new Map(successor === undefined ? [] : [[slot, successor]]));
      this.byId.delete(externalId);
    }

    /** As what has expired is, until it is removed. */
    hide(externalId: string): void {
      const slot = this.directory.slotOf(externalId);
      if (slot < 0 || this.unlisted.has(slot)) return;
      this.index.remove(slot, this.metadataOf(slot));
      this.directory.hide(slot);
      this.byId.delete(externalId);
    }

    async inOrder(
      keys: OrderKey[],
      { filter = null, bounds, limit }: { filter?: Filter | null; bounds?: OrderBounds; limit: () => number },
    ): Promise<string[]> {
      const ids: string[] = [];
      for (let after: OrderPlace | null = null; ;) {
        const request: OrderRequest = { keys, filter, after, limit: limit() };
        const { places, more }: OrderAnswer = await orderedPlaces(
          { indexes: this, slots: this.slots },
          request,
          bounds,
        );
        expect(places.length).toBeLessThanOrEqual(request.limit);
        ids.push(...places.map(({ externalId }) => externalId));
        if (!more) return ids;
        after = places.at(-1)!;
      }
    }

    private metadataOf(slot: number): JsonObject {
      return JSON.parse(this.directory.metadataOf(slot)) as JsonObject;
    }
  }

  test.each([undefined, { read: 100, compared: 500 }])('misses no item written meanwhile: %j', async (bounds) => {
    const { below } = drawing(200);
    const items = new Items();
    const ids = Array.from({ length: 6_000 }, (_, i) => `item-${String(i).padStart(4, '0')}`);
    const write = (id: string): void => items.put(id, { n: Number(id.slice(-1)) % 2, t: below(1_000) });
    for (const id of ids) write(id);
    const order: OrderKey[] = [{ field: 'n', descending: false, missingFirst: false }];
    const expected = sorted(items.byId, order);
    if (bounds !== undefined) await eventually('ids are in order', () => items.directory.byId.isReady());
    const stopSlicing = sliceAfter(100);
    let isOver = false;
    const found = items.inOrder(order, { bounds, limit: () => 1_000 }).finally(() => (isOver = true));
    let rounds = 0;
    for (; !isOver; rounds += 1) {
      for (let i = 0; i < 20; i += 1) write(ids[below(ids.length)]);
      await new Promise((next) => setImmediate(next));
    }
    stopSlicing();
    expect(await found).toEqual(expected);
    // More than one for each of the six pages.
    expect(rounds).toBeGreaterThan(6);
  });

  test.each([0, 1, 2, 3])('finds what all items sorted have: round %i', async (round) => {
    const { below, pick, metadata, keys } = drawing(100 + round);
    const items = new Items();
    for (let i = 0; i < 500; i += 1) {
      items.put(`item-${below(300)}`, metadata(), round % 2 === 0 || below(8) > 0);
      if (i % 3 === 0) items.remove(`item-${below(300)}`);
      if (i % 50 === 0) items.hide(`item-${below(300)}`);
    }
    for (let i = 0; i < 12; i += 1) {
      const order = keys();
      // What is in no list passes no filter here.
      const filter: Filter | null =
        round % 2 === 0 && below(2) === 0 ? { type: 'in', path: 'n', values: [0, 1] } : null;
      const passing = new Map([...items.byId].filter(([, { n }]) => filter === null || n === 0 || n === 1));
      const bounds = { read: pick([0, 3, 40]), compared: pick([0, 3, 40]) };
      const found = await items.inOrder(order, { filter, bounds, limit: () => pick([1, 7, 500]) });
      expect(found).toEqual(sorted(passing, order));
    }
  });

  test('of many values, sorted in parts, that come and go', async () => {
    const { below, pick } = drawing(200);
    const items = new Items();
    const put = (count: number): void => {
      for (let i = 0; i < count; i += 1) {
        const n = below(1_000_000);
        items.put(`item-${below(9_000)}`, { n, t: `${n % 7}-${n}`, tie: below(2) });
      }
    };
    const fields = ['n', 't'];
    for (let i = 0; i < 3; i += 1) {
      put([6_000, 4_500, 1_500][i]);
      if (i === 2) items.loadAgain();
      for (const field of fields) {
        const order: OrderKey[] = [{ field, descending: i % 2 === 0, missingFirst: false }];
        expect(await items.inOrder(order, { limit: () => pick([900, 1_000]) })).toEqual(sorted(items.byId, order));
      }
      const tied = ['tie', pick(fields)].map((field): OrderKey => ({
        field,
        descending: i < 2,
        missingFirst: true,
      }));
      expect(await items.inOrder(tied, { limit: () => 1_000 })).toEqual(sorted(items.byId, tied));
      // The order of ids is made where it is first wanted, and follows writes.
      for (const order of [tied.slice(0, 1), [{ ...tied[0], field: 'nowhere' }]]) {
        const bounds = { read: 100, compared: 500 };
        expect(await items.inOrder(order, { bounds, limit: () => 1_000 })).toEqual(sorted(items.byId, order));
        await eventually('ids are in order', () => items.directory.byId.isReady());
      }
      for (const id of [...items.byId.keys()]) if (below(3) === 0) items.remove(id);
    }
  });
});
