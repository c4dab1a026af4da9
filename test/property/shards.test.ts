import type { RunningService } from '../../coordinator/service-factory';
import { FUSION_KINDS, type Fusing } from '../../coordinator/service/search-request';
import type { VectorInput, VectorView } from '../../coordinator/service/service';
import type { Filter } from '../../shared/contract/filter/filter';
import { METRICS, type Metric } from '../../shared/contract/vector/metric';
import { newCollection, plainService } from '../support/shards/plain-service';
import { runSeed, seededRandom } from '../support/values/random';
import { fetched, scrolledPage } from '../support/http/whole-pages';
import { asked, fused, like, listed, nearest } from '../support/stories/search-forms';

/** The number of shards never shows: the same writes into 1, 3 and 8 shards give the same answers to everything. */

const SHARD_COUNTS = [1, 3, 8];
const DIM = 4;
const WORDS = ['red', 'green', 'apple', 'pear', 'stone', 'river', '漢字', 'naïve'];
const seed = runSeed('shards');

class Workload {
  private readonly random: () => number;

  constructor(round: number) {
    this.random = seededRandom(seed + round);
  }

  below(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  /** Few distinct values, so that scores are often equal. */
  vector(): Float32Array {
    return Float32Array.from({ length: DIM }, () => this.below(3) - 1);
  }

  text(): string {
    return Array.from({ length: 1 + this.below(5) }, () => WORDS[this.below(WORDS.length)]).join(' ');
  }

  id(): string {
    return `${WORDS[this.below(WORDS.length)]}-${this.below(25)}`;
  }

  item(): VectorInput {
    const source = this.below(4) === 0 ? { text: this.text() } : { vector: this.vector() };
    return {
      externalId: this.id(),
      source,
      metadata:
        this.below(3) === 0
          ? undefined
          : JSON.stringify({ n: this.below(4), note: this.text(), list: new Array(this.below(4)).fill(1) }),
      text: this.below(2) === 0 ? this.text() : undefined,
    };
  }

  fusing(): Fusing | undefined {
    const kind = [undefined, ...FUSION_KINDS][this.below(5)];
    return kind && { kind, constant: 1 + this.below(70), isUnit: kind !== 'linear' && this.below(2) === 0 };
  }

  filter(): Filter | null {
    switch (this.below(6)) {
      case 0:
        return { type: 'not', filter: { type: 'ids', ids: Array.from({ length: 30 }, () => this.id()) } };
      case 1:
        return { type: 'size', path: 'list', low: this.below(3), high: 2 };
      case 2:
        return { type: 'range', path: 'n', operator: 'gte', bound: this.below(4) };
      default:
        return null;
    }
  }
}

/** Everything that a client can be told, as one list. */
async function answers(service: RunningService, work: Workload): Promise<unknown[]> {
  const { search, vectors, collections } = service;
  const told: unknown[] = [(await collections.get('c')).vectorCount];
  for (let i = 0; i < 6; i += 1) {
    const [k, offset, filter] = [1 + work.below(20), work.below(15), work.filter()];
    const source = work.below(3) === 0 ? { text: work.text() } : { vector: work.vector() };
    const { hits, totalCount } = await search.search(
      'c',
      nearest({ source, k, offset, filter, effort: { type: 'exact' } }),
    );
    told.push(hits, totalCount);
    told.push(await search.count('c', filter));
    const vector = work.below(2) === 0 ? work.vector() : undefined;
    const alpha = [0, 0.3, 0.5, 1][work.below(4)];
    const hybrid = { queryText: work.text(), vector, k, offset, alpha, filter, fusing: work.fusing() };
    told.push((await search.search('c', fused(hybrid))).hits);
    told.push((await search.search('c', asked({ text: work.text(), k, filter }))).hits);
    told.push(
      (await search.search('c', listed({ source, candidates: Array.from({ length: 12 }, () => work.id()) }))).hits,
    );
    const [id1, id2] = [work.id(), work.id()];
    told.push(
      await Promise.resolve(search.search('c', like(id1, { k, offset, filter }))).then(
        ({ hits: near }) => near,
        String,
      ),
    );
    told.push(await search.similarity('c', id1, id2).catch(String));
    told.push(await fetched(vectors.fetch('c', [id1, id2, id1], { vectors: true })));
    told.push(await scrolled(service, 1 + work.below(30), filter), await exported(service, 1 + work.below(250)));
  }
  return told;
}

async function scrolled(service: RunningService, limit: number, filter: Filter | null): Promise<VectorView[][]> {
  const pages: VectorView[][] = [];
  let cursor: string | null = null;
  do {
    const page: { vectors: VectorView[]; nextCursor: string | null } = await scrolledPage(
      service.vectors.scroll('c', { cursor, limit, filter, vectors: true }),
    );
    pages.push(page.vectors);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return pages;
}

async function exported(service: RunningService, limit: number): Promise<VectorView[]> {
  const all: VectorView[] = [];
  for await (const page of (await service.vectors.export('c', limit)).pages) all.push(...page);
  return all;
}

/** Writes and answers of one run; the same round gives the same writes and the same questions. */
async function run(round: number, metric: Metric, shards: number): Promise<unknown[]> {
  const { service } = await plainService();
  await service.collections.create(newCollection('c', { dim: DIM, metric, shards }));
  const work = new Workload(round);
  const told: unknown[] = [];
  for (let batch = 0; batch < 8; batch += 1) {
    told.push(
      (
        await service.vectors.upsert(
          'c',
          Array.from({ length: 1 + work.below(40) }, () => work.item()),
        )
      ).statuses,
    );
    told.push(
      await service.vectors.delete(
        'c',
        Array.from({ length: work.below(12) }, () => work.id()),
      ),
    );
  }
  return withoutVersions([...told, ...(await answers(service, work))]);
}

/** Versions begin with the time of the write. */
function withoutVersions<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) return value.map(withoutVersions) as Value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, part]) => (name === 'version' ? [] : [[name, withoutVersions(part)]])),
  ) as Value;
}

test.each(METRICS.flatMap((metric, i) => [0, 1].map((round) => ({ metric, round: 2 * i + round }))))(
  'answers are the same from 1, 3 and 8 shards ($metric, round $round)',
  async ({ metric, round }) => {
    const [one, ...others] = await Promise.all(SHARD_COUNTS.map((shards) => run(round, metric, shards)));
    for (const other of others) expect(other).toEqual(one);
    // The questions have answers: neither the searches nor the exports came out empty.
    expect(JSON.stringify(one).length).toBeGreaterThan(10_000);
  },
);

test('pages of every size cover a search once, in order, over any number of shards', async () => {
  const work = new Workload(100);
  const items = Array.from({ length: 150 }, () => work.item());
  const query = { source: { vector: work.vector() }, filter: null, effort: { type: 'exact' as const } };
  for (const shards of SHARD_COUNTS) {
    const { service } = await plainService();
    await service.collections.create(newCollection('c', { dim: DIM, metric: 'ip', shards }));
    await service.vectors.upsert('c', items);
    const { hits: whole, totalCount } = await service.search.search('c', nearest({ ...query, k: 1000, offset: 0 }));
    expect(whole).toHaveLength(totalCount!);
    for (const k of [1, 3, 10, 64]) {
      const paged: unknown[] = [];
      for (let offset = 0; offset < totalCount!; offset += k)
        paged.push(...(await service.search.search('c', nearest({ ...query, k, offset }))).hits);
      expect(paged).toEqual(whole);
    }
  }
});
