import type { RunningService } from '../../coordinator/service-factory';
import type { VectorInput, VectorView } from '../../coordinator/service/service';
import { type ItemFacts, matches } from '../../node/engine/filter/matches';
import type { IndexFactories } from '../../node/engine/shard/shard-indexes';
import type { Filter, JsonObject, JsonValue } from '../../shared/contract/filter/filter';
import { defaultAnalyser } from '../../shared/base/text/analyser';
import { lookUpPath } from '../../shared/contract/filter/metadata-path';
import { parseFilter } from '../../shared/contract/filter/parse-filter';
import { scrolledPage } from '../support/http/whole-pages';
import { eventually } from '../support/eventually';
import { newCollection, type PlainService, plainService } from '../support/shards/plain-service';
import { diskFactories, graphFactories, openRocksStore, ShardNode } from '../support/shards/shard-node';
import { nearest } from '../support/stories/search-forms';
import { runSeed, seededRandom } from '../support/values/random';

/** What reads and writes by filter find through the whole service, against the plain predicate. */

const DIM = 4;
const IDS = 400;
/** Versions run ahead of the clock by less. */
const APART_MS = 5;
const WORDS = ['red', 'green', 'stone', 'é', '漢字'];
const seed = runSeed('filtered-reads');

let nodes: ShardNode[] = [];

afterEach(async () => {
  for (const node of nodes) await node.destroy();
  nodes = [];
});

/** The same steps for each number of shards. */
class Story {
  private readonly random = seededRandom(seed);
  private readonly items = new Map<string, { metadata: JsonObject; text: string; facts: ItemFacts }>();
  /** How many items were found. */
  found = 0;
  /** Milliseconds since 1970 between the steps that write: an item was changed after those before its last one. */
  private readonly moments: number[] = [];

  private constructor(
    private readonly node: ShardNode,
    private started: PlainService,
  ) {}

  static async begin(factories: IndexFactories, shards: number): Promise<Story> {
    const node = await new ShardNode({ factories, openStore: openRocksStore }).start();
    nodes.push(node);
    const started = await plainService({ shardClient: node.client });
    await started.service.collections.create(newCollection('c', { dim: DIM, metric: 'cosine', shards }));
    return new Story(node, started);
  }

  async restart(): Promise<void> {
    await this.node.restart();
    this.started = await plainService({ store: this.started.store, shardClient: this.node.client });
  }

  /** Begins a step that writes. Answers a time that stands for any in it. */
  private async nextMoment(): Promise<number> {
    const moment = Date.now() + APART_MS;
    await eventually('the moment is over', () => Date.now() > moment);
    this.moments.push(moment);
    return moment + 1;
  }

  async write(count: number): Promise<void> {
    const updatedMs = await this.nextMoment();
    const ids = [...new Set(Array.from({ length: count }, () => this.id()))];
    await this.service.vectors.upsert(
      'c',
      ids.map((externalId): VectorInput => {
        const metadata = this.metadata();
        const expiresAt = this.below(3) === 0 ? 4e12 + this.below(1_000) : null;
        const text = Array.from({ length: this.below(4) }, () => this.pick(WORDS)).join(' ');
        const facts = { externalId, expiry: expiresAt ?? 0, updatedMs, hasWords: wordsOf(text) };
        this.items.set(externalId, { metadata, text, facts });
        const source = { vector: Float32Array.from({ length: DIM }, () => this.random() - 0.5) };
        return { externalId, source, metadata: JSON.stringify(metadata), text, expiresAt };
      }),
    );
    const gone = Array.from({ length: Math.ceil(count / 10) }, () => this.id());
    await this.service.vectors.delete('c', gone);
    for (const id of gone) this.items.delete(id);
  }

  /** Each filter by every way. */
  async ask(filters: number): Promise<void> {
    for (let i = 0; i < filters; i += 1) {
      const filter = parseFilter(this.filter());
      if (filter === null) continue;
      const wanted = this.passing(filter);
      this.found += wanted.length;
      const { search, aggregates } = this.service;
      const [scrolled, count, { hits }, answer] = await Promise.all([
        this.scrolled(filter),
        search.count('c', filter),
        search.search(
          'c',
          nearest({ source: { vector: Float32Array.of(1, 0, 0, 0) }, k: IDS, filter, effort: { type: 'exact' } }),
        ),
        aggregates.aggregate('c', {
          filter,
          over: null,
          wanted: {
            facets: [{ field: 'n', limit: 100, order: 'value', prefix: null, ownFilter: true }],
            stats: [],
            ranges: [],
            by: null,
          },
        }),
      ]);
      expect({
        filter,
        scrolled: scrolled.sort(),
        count,
        hits: hits.map(({ externalId }) => externalId).sort(),
        facet: answer.facets[0].values.map(({ value, count: items }) => [value, items]),
      }).toEqual({ filter, scrolled: wanted, count: wanted.length, hits: wanted, facet: this.facetOf(wanted) });
    }
  }

  async change(): Promise<void> {
    const updatedMs = await this.nextMoment();
    const gone = this.narrow();
    const { deletedCount } = await this.service.vectors.deleteByFilter('c', gone);
    const ids = this.passing(gone);
    expect({ gone, deletedCount }).toEqual({ gone, deletedCount: ids.length });
    for (const id of ids) this.items.delete(id);
    const changed = this.narrow();
    const { updatedCount } = await this.service.vectors.updateByFilter('c', changed, {
      metadata: { json: '{"n":7,"at":null}', replaces: false, bytesMax: 10_000, fieldsMax: 1_000 },
    });
    const touched = this.passing(changed);
    expect({ changed, updatedCount }).toEqual({ changed, updatedCount: touched.length });
    for (const id of touched) {
      const item = this.items.get(id)!;
      const { at: _at, ...kept } = item.metadata;
      item.metadata = { ...kept, n: 7 };
      item.facts.updatedMs = updatedMs;
    }
    this.found += ids.length + touched.length;
  }

  private get service(): RunningService {
    return this.started.service;
  }

  private passing(filter: Filter): string[] {
    return [...this.items]
      .filter(([, { metadata, facts }]) => matches(filter, metadata, facts))
      .map(([id]) => id)
      .sort();
  }

  /** The values of `n`, in order, and how many of the items have each. */
  private facetOf(ids: string[]): [number, number][] {
    const numbers = ids.flatMap((id) => (this.items.get(id)!.metadata.n as number | undefined) ?? []);
    const values = [...new Set(numbers)].sort((a, b) => a - b);
    return values.map((value) => [value, numbers.filter((one) => one === value).length]);
  }

  private async scrolled(filter: Filter): Promise<string[]> {
    const ids: string[] = [];
    let cursor: string | null = null;
    do {
      const page: { vectors: VectorView[]; nextCursor: string | null } = await scrolledPage(
        this.service.vectors.scroll('c', { cursor, limit: 90, filter, vectors: false }),
      );
      for (const { externalId } of page.vectors) ids.push(externalId);
      cursor = page.nextCursor;
    } while (cursor !== null);
    return ids;
  }

  private below(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  private pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)];
  }

  private id(): string {
    return `item-${this.below(IDS)}`;
  }

  private scalar(): JsonValue {
    return this.pick<JsonValue>([this.below(5), this.pick(WORDS), null, true]);
  }

  private element(): JsonValue {
    return this.below(2) === 0 ? this.scalar() : { k: this.scalar(), m: this.scalar() };
  }

  private point(): JsonValue {
    const [lat, lon] = [52 + this.random(), this.pick([13 + this.random(), 179.9, -179.9])];
    return this.below(2) === 0 ? { lat, lon } : { type: 'Point', coordinates: [lon, lat] };
  }

  private metadata(): JsonObject {
    const metadata: JsonObject = {};
    if (this.below(5) > 0) metadata.n = this.below(5);
    if (this.below(5) > 0) metadata.list = Array.from({ length: this.below(4) }, () => this.element());
    if (this.below(3) > 0) metadata.at = this.below(5) === 0 ? [this.point(), this.point()] : this.point();
    if (this.below(3) > 0) metadata.title = `${this.pick(WORDS)} ${this.pick(WORDS)}`;
    return metadata;
  }

  private condition(): JsonObject {
    const { lat, lon } = { lat: 52 + this.random(), lon: 13 + this.random() };
    const conditions: (() => JsonObject)[] = [
      () => ({ list: { $all: [this.scalar(), this.scalar()] } }),
      () => ({ list: { $any: [this.scalar(), this.element()] } }),
      () => ({ list: { $size: this.pick<JsonValue>([this.below(4), { $gt: this.below(3) }]) } }),
      () => ({ list: { $elem_match: { k: this.scalar(), m: { $ne: this.scalar() } } } }),
      () => ({ list: { $elem_match: { $gt: this.below(3), $lt: 4 } } }),
      () => ({ at: { $geo_radius: { lat, lon, metres: 10 ** (3 + this.random() * 2) } } }),
      () => ({ at: { $geo_box: { min_lat: 52, max_lat: lat, min_lon: this.pick([lon, 179.5]), max_lon: -179.5 } } }),
      () => ({
        at: {
          $geo_polygon: [
            { lat: 52, lon: 13 },
            { lat: 53, lon },
            { lat, lon: 14 },
          ],
        },
      }),
      () => ({ title: { $contains: this.pick(WORDS) } }),
      () => ({ title: { $prefix: this.pick(WORDS), case: 'fold' } }),
      () => ({ $id: Array.from({ length: this.below(60) }, () => this.id()) }),
      () => ({ $expires_at: { $gt: new Date(4e12 + this.below(1_000)).toISOString() } }),
      () => ({ $updated: { [this.pick(['$gt', '$lte'])]: new Date(this.pick(this.moments)).toISOString() } }),
      () => ({
        $text: {
          query: `${this.pick(WORDS)}, ${this.pick([...WORDS, 'nowhere'])}`,
          match: this.pick(['any', 'all']),
          ...(this.below(3) === 0 && { fields: this.pick([['title'], ['title', 'list'], ['nowhere']]) }),
        },
      }),
      () => ({ n: { $between: [this.below(3), 3] } }),
    ];
    return this.pick(conditions)();
  }

  private filter(): JsonObject {
    const kind = this.below(6);
    if (kind === 0) return { $not: this.condition() };
    if (kind === 1) return { $or: [this.condition(), { $and: [this.condition(), { n: { $gt: 1 } }] }] };
    if (kind === 2) return { $and: [this.condition(), this.condition()] };
    return this.condition();
  }

  /** Of some items, so that most stay. */
  private narrow(): Filter {
    const ids = Array.from({ length: 80 }, () => this.id());
    return parseFilter({ $and: [this.filter(), { $id: ids }] })!;
  }
}

/** Whether a text and the strings of metadata have words: in no language they are their own terms. */
function wordsOf(text: string): Exclude<ItemFacts['hasWords'], undefined> {
  return ({ query, match, paths }, metadata) => {
    const texts = paths === undefined ? [text, metadata] : paths.map((path) => lookUpPath(metadata, path) ?? null);
    const words = new Set(defaultAnalyser.terms(texts.map(stringsOf).join(' ')));
    const wanted = defaultAnalyser.terms(query);
    return match === 'any' ? wanted.some((one) => words.has(one)) : wanted.every((one) => words.has(one));
  };
}

function stringsOf(value: JsonValue): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? Object.values(value).map(stringsOf).join(' ') : '';
}

test.each([
  { name: 'vectors in memory', factories: graphFactories('int8') },
  { name: 'segments on the disk', factories: diskFactories },
])(
  'what passes a filter is the same by every way, over 1, 2 and 5 shards and after a restart ($name)',
  async ({ factories }) => {
    const found: number[] = [];
    for (const shards of [1, 2, 5]) {
      const story = await Story.begin(factories, shards);
      await story.write(600);
      await story.ask(20);
      await story.change();
      await story.write(60);
      await story.ask(10);
      await story.restart();
      await story.ask(10);
      await story.change();
      await story.ask(10);
      found.push(story.found);
    }
    expect(found).toEqual(found.map(() => found[0]));
    expect(found[0]).toBeGreaterThan(2_000);
  },
);
