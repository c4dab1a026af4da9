import type { RunningService } from '../../coordinator/service-factory';
import type { VectorInput } from '../../coordinator/service/service';
import type { IndexFactories } from '../../node/engine/shard/shard-indexes';
import type { Filter } from '../../shared/contract/filter/filter';
import { compareHits, type SearchEffort } from '../../shared/contract/shard/shard-read';
import { METRICS, type Metric } from '../../shared/contract/vector/metric';
import { QUANTIZATIONS } from '../../shared/contract/vector/quantization';
import { eventually } from '../support/eventually';
import { newCollection, type PlainService, plainService } from '../support/shards/plain-service';
import { runSeed, seededRandom } from '../support/values/random';
import {
  graphFactories,
  nativeFactories,
  openMemoryStore,
  openRocksStore,
  quantizedDiskFactories,
  ShardNode,
} from '../support/shards/shard-node';
import { fused, like, listed, nearest } from '../support/stories/search-forms';

/**
 * Items of one score come in the order of their ids, however many there are: pages give each of them once. Held against
 * the scores of all items, sorted.
 */

const DIM = 4;
const EXACT: SearchEffort = { type: 'exact' };
const CALIBRATED: SearchEffort = { type: 'calibrated' };
const EFFORTS: SearchEffort[] = [CALIBRATED, EXACT, { type: 'ef', ef: 40 }];
const seed = runSeed('tied-scores');

let nodes: ShardNode[] = [];

afterEach(async () => {
  for (const node of nodes) await node.destroy();
  nodes = [];
});

class Items {
  readonly random: () => number;
  /** The items that are stored, by id. */
  readonly stored = new Map<string, VectorInput>();

  private constructor(
    round: number,
    private readonly node: ShardNode,
    private started: PlainService,
  ) {
    this.random = seededRandom(seed + round);
  }

  static async make(
    round: number,
    factories: IndexFactories,
    { shards = 1, metric = 'cosine' as Metric, openStore = openMemoryStore } = {},
  ): Promise<Items> {
    const node = await new ShardNode({ factories, openStore }).start();
    nodes.push(node);
    const started = await plainService({ shardClient: node.client });
    await started.service.collections.create(newCollection('c', { dim: DIM, metric, shards }));
    return new Items(round, node, started);
  }

  get service(): RunningService {
    return this.started.service;
  }

  async restart(): Promise<void> {
    await this.node.restart();
    this.started = await plainService({ store: this.started.store, shardClient: this.node.client });
  }

  below(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  /** Ids of both encodings, in an order that is not theirs. */
  ids(count: number): string[] {
    const ids = Array.from(
      { length: count },
      (_, i) => `${i % 7 === 0 ? '\u{1f600}' : i % 5 === 0 ? '\uffee' : 'i'}${String(i).padStart(6, '0')}`,
    );
    for (let i = ids.length - 1; i > 0; i -= 1) {
      const other = this.below(i + 1);
      [ids[i], ids[other]] = [ids[other], ids[i]];
    }
    return ids;
  }

  async put(items: VectorInput[]): Promise<void> {
    for (let from = 0; from < items.length; from += 1000)
      await this.service.vectors.upsert('c', items.slice(from, from + 1000));
    for (const item of items) this.stored.set(item.externalId, item);
  }

  async remove(ids: string[]): Promise<void> {
    await this.service.vectors.delete('c', ids);
    for (const id of ids) this.stored.delete(id);
  }

  /** Resolves when most rows are in graphs or cells. To measure these takes longer, and nothing depends on it. */
  async built(): Promise<void> {
    await this.service.collections.optimize('c');
    await eventually('rows in graphs or cells', async () => {
      const { indexedRows, rows } = (await this.service.collections.stats('c')).index;
      return indexedRows > rows / 2;
    });
  }
}

const at = (externalId: string, vector: number[], metadata: object = {}, text?: string): VectorInput => ({
  externalId,
  source: { vector: Float32Array.from(vector) },
  metadata: JSON.stringify(metadata),
  text,
});

type Page = (offset: number, k: number) => Promise<{ externalId: string; score: number }[]>;

/** Pages of `k` until there are no more. */
async function paged(k: number, page: Page): Promise<string[]> {
  const all: string[] = [];
  for (;;) {
    const hits = await page(all.length, k);
    all.push(...hits.map(({ externalId }) => externalId));
    if (hits.length < k) return all;
  }
}

const searching =
  ({ service }: Items, vector: number[], effort: SearchEffort, filter: Filter | null = null): Page =>
  async (offset, k) =>
    (
      await service.search.search(
        'c',
        nearest({ source: { vector: Float32Array.from(vector) }, k, offset, filter, effort }),
      )
    ).hits;

const inCodeUnits = (ids: Iterable<string>): string[] => [...ids].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));

const QUERY = [1, 1, 1, 2];

/** The ids of one score that the pages of a search give, after all pages were looked at. */
async function tiedOf(items: Items, effort: SearchEffort, filter: Filter | null = null): Promise<string[]> {
  const near = searching(items, QUERY, effort, filter);
  const hits: { externalId: string; score: number }[] = [];
  const ids = await paged(130, async (offset, k) => {
    const page = await near(offset, k);
    hits.push(...page);
    return page;
  });
  expect(new Set(ids).size).toBe(ids.length);
  expect(hits.toSorted(compareHits)).toEqual(hits);
  return ids.filter((id) => !id.startsWith('other'));
}

describe.each(QUANTIZATIONS)('equal vectors, %s', (quantization) => {
  test.each([
    ['a graph', graphFactories(quantization)],
    ['segments on the disk', quantizedDiskFactories(quantization)],
  ] as const)('%s: pages give each once, in the order of ids, while items come and go', async (_name, factories) => {
    for (const shards of quantization === 'int8' ? [1, 2, 5] : [1]) {
      const items = await Items.make(shards, factories, { shards, openStore: openRocksStore });
      const ids = items.ids(1_000);
      await items.put(ids.map((id, i) => at(id, [1, 1, 1, 1], { even: i % 2 === 0 })));
      // Some are nearer, most are farther.
      await items.put(
        Array.from({ length: 600 }, (_, i) =>
          at(`other${i}`, [1, 1, 1, i < 12 ? 2 + i / 12 : -i / 600], { even: i % 2 === 0 }),
        ),
      );
      const check = async (what: string): Promise<void> => {
        const equal = inCodeUnits(items.stored.keys()).filter((id) => !id.startsWith('other'));
        const even = equal.filter((id) => (JSON.parse(items.stored.get(id)!.metadata!) as { even: boolean }).even);
        for (const effort of EFFORTS) {
          expect({ what, effort, ids: await tiedOf(items, effort) }).toEqual({ what, effort, ids: equal });
          expect({
            what,
            effort,
            ids: await tiedOf(items, effort, { type: 'equals', path: 'even', value: true }),
          }).toEqual({ what, effort, ids: even });
        }
      };
      await check('rows that wait');
      await items.built();
      await check('rows in place');
      await items.remove(inCodeUnits(ids).filter((_, i) => i % 3 === 0));
      await items.put(ids.slice(0, 100).map((id) => at(id, [1, 1, 1, 1], { even: true })));
      await check('after deletes and further puts');
      await items.restart();
      await check('after a restart');
    }
  });
});

test('pages over 20,000 equal vectors give each once, in the order of ids', async () => {
  for (const factories of [graphFactories('int8'), quantizedDiskFactories('int8')]) {
    const items = await Items.make(7, factories, { shards: 2 });
    const ids = items.ids(20_000);
    await items.put(ids.map((id) => at(id, [1, 2, 3, 4])));
    await items.built();
    for (const effort of [CALIBRATED, EXACT])
      expect(await paged(2_500, searching(items, [4, 3, 2, 1], effort))).toEqual(inCodeUnits(ids));
  }
});

describe.each(METRICS)('few different vectors and words, %s', (metric) => {
  test('every kind of search has the order of all scores, over 1, 2 and 5 shards', async () => {
    for (const shards of [1, 2, 5]) {
      const items = await Items.make(11, nativeFactories, { metric, shards });
      const words = ['river', 'lake', 'sea'];
      const vector = (): number[] => Array.from({ length: DIM }, () => items.below(3) - 1);
      await items.put(
        items
          .ids(700)
          .map((id) => at(id, vector(), { n: items.below(3) }, `${words[items.below(3)]} ${words[items.below(3)]}`)),
      );
      const { search } = items.service;
      for (let round = 0; round < 4; round += 1) {
        const query = round === 0 ? [0, 0, 0, 0] : vector();
        const source = { vector: Float32Array.from(query) };
        const filter: Filter | null = round % 2 === 0 ? null : { type: 'equals', path: 'n', value: items.below(3) };
        const stored = [...items.stored.values()].filter(
          ({ metadata }) => filter === null || (JSON.parse(metadata!) as { n: number }).n === filter.value,
        );
        const { hits: all } = await search.search(
          'c',
          listed({ source, candidates: stored.map(({ externalId }) => externalId) }),
        );
        const ranking = all.toSorted(compareHits).map(({ externalId }) => externalId);
        const k = 1 + items.below(60);
        for (const effort of EFFORTS) expect(await paged(k, searching(items, query, effort, filter))).toEqual(ranking);
        const bulk = await search.searchAll('c', [
          nearest({ source, k, filter, effort: CALIBRATED }),
          nearest({ source, k: k + 5, offset: 3, filter, effort: EXACT }),
        ]);
        expect(bulk.results.map(({ hits }) => hits.map(({ externalId }) => externalId))).toEqual([
          ranking.slice(0, k),
          ranking.slice(3, k + 8),
        ]);
        const hybrid =
          (alpha: number): Page =>
          async (offset, size) =>
            (
              await search.search(
                'c',
                fused({ queryText: 'river', vector: source.vector, k: size, offset, alpha, filter }),
              )
            ).hits;
        expect(await paged(k, hybrid(1))).toEqual(ranking);
        // Words tie, too: what has the word comes once, in the same order however it is paged.
        for (const alpha of [0, 0.5]) {
          const whole = await hybrid(alpha)(0, 700);
          expect(whole.toSorted(compareHits)).toEqual(whole);
          if (alpha === 0) expect(await paged(k, hybrid(alpha))).toEqual(whole.map(({ externalId }) => externalId));
          else
            expect((await paged(k, hybrid(alpha))).toSorted()).toEqual(
              whole.map(({ externalId }) => externalId).toSorted(),
            );
        }
        const own = stored[items.below(stored.length)];
        const { hits: near } = await search.search(
          'c',
          listed({ source: own.source, candidates: stored.map(({ externalId }) => externalId) }),
        );
        const others = near
          .toSorted(compareHits)
          .map(({ externalId }) => externalId)
          .filter((id) => id !== own.externalId);
        expect(
          await paged(
            k,
            async (offset, size) => (await search.search('c', like(own.externalId, { k: size, offset, filter }))).hits,
          ),
        ).toEqual(others);
      }
    }
  });
});
