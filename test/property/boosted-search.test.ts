import type { SearchRequest } from '../../coordinator/service/search-request';
import type { ScoredHit, VectorInput } from '../../coordinator/service/service';
import type { RunningService } from '../../coordinator/service-factory';
import type { Filter, JsonObject } from '../../shared/contract/filter/filter';
import type { Boosts } from '../../shared/contract/shard/boosts';
import { compareHits, type SearchEffort } from '../../shared/contract/shard/shard-read';
import { METRICS, type Metric } from '../../shared/contract/vector/metric';
import { plainBoosted, plainBoostNumbers } from '../support/models/plain-boosts';
import { newCollection, plainService } from '../support/shards/plain-service';
import { graphFactories, openMemoryStore, ShardNode } from '../support/shards/shard-node';
import { byExamples, fused, like, nearest } from '../support/stories/search-forms';
import { runSeed, seededRandom } from '../support/values/random';
import { RandomBoosts } from '../support/values/random-boosts';

/**
 * Searches with boosts, against the whole list without them whose scores are changed one by one; of an index and of a
 * plain scan, over any number of shards the same.
 */

const DIM = 4;
const ITEMS = 700;
const EXACT: SearchEffort = { type: 'exact' };
const WORDS = ['red', 'green', 'apple', 'pear', 'stone', 'river'];
const seed = runSeed('boosted-search');

let nodes: ShardNode[] = [];

afterEach(async () => {
  for (const node of nodes) await node.destroy();
  nodes = [];
});

class Story {
  readonly random: () => number;
  readonly made: RandomBoosts;

  private constructor(
    round: number,
    readonly service: RunningService,
  ) {
    this.random = seededRandom(seed + round);
    this.made = new RandomBoosts(this.random);
  }

  static async begin(round: number, metric: Metric, shards: number, isPlain: boolean): Promise<Story> {
    const node = isPlain
      ? undefined
      : await new ShardNode({ factories: graphFactories('int8'), openStore: openMemoryStore }).start();
    if (node !== undefined) nodes.push(node);
    const { service } = await plainService(node && { shardClient: node.client });
    await service.collections.create(newCollection('c', { dim: DIM, metric, shards }));
    const story = new Story(round, service);
    const items = Array.from({ length: ITEMS }, (_, i) => story.item(i));
    await service.vectors.upsert('c', items);
    await service.vectors.upsert(
      'c',
      Array.from({ length: 60 }, () => story.item(story.made.below(ITEMS))),
    );
    await service.vectors.delete(
      'c',
      Array.from({ length: 40 }, () => `i-${story.made.below(ITEMS)}`),
    );
    return story;
  }

  vector(): Float32Array {
    const fine = this.made.below(2) === 0;
    return Float32Array.from({ length: DIM }, () => (fine ? this.random() - 0.5 : this.made.below(3) - 1));
  }

  text(): string {
    return Array.from({ length: 1 + this.made.below(3) }, () => this.made.pick(WORDS)).join(' ');
  }

  item(i: number): VectorInput {
    const [vector, text] = [this.vector(), this.text()];
    return { externalId: `i-${i}`, source: { vector }, metadata: JSON.stringify(this.made.metadata()), text };
  }

  async hits(request: SearchRequest): Promise<ScoredHit[]> {
    const { hits, boostDepth } = await this.service.search.search('c', request);
    expect(boostDepth).toBeUndefined();
    return hits;
  }
}

type Form = (given: { k: number; offset?: number; boosts?: Boosts }) => SearchRequest;

/** Searches whose answer is one list by scores that boosts change. */
function formOf(story: Story, i: number): Form {
  const { made } = story;
  const filter: Filter | null = made.pick([null, null, { type: 'range', path: 'n', operator: 'lt', bound: 50 }]);
  const common = { filter, effort: EXACT };
  const [source, queryText] = [{ vector: story.vector() }, story.text()];
  const positives = [{ vector: story.vector() }, source];
  const strategy = made.pick(['average', 'best_score'] as const);
  switch (i % 4) {
    case 0: {
      const fusing = { kind: 'linear', constant: 60, isUnit: false } as const;
      return (given) => fused({ queryText, alpha: 0, fusing, ...common, ...given });
    }
    case 1:
      return (given) => byExamples({ positives, negatives: [], strategy }, { ...common, ...given });
    default:
      return (given) => nearest({ source, ...common, ...given });
  }
}

function boostedPlainly(list: readonly ScoredHit[], boosts: Boosts): ScoredHit[] {
  return list
    .map((hit) => {
      const numbers = plainBoostNumbers(boosts, JSON.parse(hit.metadata) as JsonObject);
      return { ...hit, score: plainBoosted(boosts, hit.score, numbers), boosts: numbers };
    })
    .sort(compareHits);
}

async function asked(story: Story): Promise<unknown[]> {
  const told: unknown[] = [];
  const { made } = story;
  for (let i = 0; i < 20; i += 1) {
    const form = formOf(story, i);
    const boosts = made.boosts();
    const [k, offset] = [1 + made.below(20), made.pick([0, 0, 5, 60])];
    const request = form({ k, offset, boosts });
    const found = await story.hits({ ...request, output: { ...request.output, explain: true } });
    const whole = await story.hits(form({ k: ITEMS }));
    const expected = boostedPlainly(whole, boosts).slice(offset, offset + k);
    const shown = found.map(({ explanation: _explanation, ...hit }) => hit);
    expect({ boosts, hits: shown }).toEqual({ boosts, hits: expected });
    told.push(shown);
    const groups = { path: 'kind', size: 2, missing: 'leave_out' } as const;
    const grouped = form({ k: 2, boosts });
    told.push(await story.hits({ ...grouped, page: { ...grouped.page, groups } }));
    const id = made.below(ITEMS);
    const given = { filter: null, effort: EXACT, boosts };
    const negatives = [{ vector: story.vector() }];
    const positives = [{ vector: story.vector() }, { vector: story.vector() }];
    told.push(
      await story.hits(like(`i-${id}`, given)).catch(String),
      await story.hits(byExamples({ positives, negatives, strategy: 'best_score' }, given)),
      await story.hits(fused({ queryText: story.text(), vector: story.vector(), k, offset, ...given })),
    );
  }
  return told;
}

test.each(METRICS.flatMap((metric) => [true, false].map((isPlain) => ({ metric, isPlain }))))(
  'boosts change all scores alike over 1, 2 and 5 shards ($metric, plain: $isPlain)',
  async ({ metric, isPlain }) => {
    const answers: unknown[][] = [];
    for (const shards of [1, 2, 5]) answers.push(await asked(await Story.begin(3, metric, shards, isPlain)));
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
    expect(JSON.stringify(answers[0]).length).toBeGreaterThan(5_000);
  },
);

test('examples find the same with boosts that help all alike', async () => {
  const story = await Story.begin(7, 'ip', 2, false);
  const examples = {
    positives: [{ vector: story.vector() }, { vector: story.vector() }],
    negatives: [{ vector: story.vector() }],
    strategy: 'best_score' as const,
  };
  const all: Boosts['parts'][number] = { type: 'filter', filter: { type: 'exists', path: 'n' }, weight: 4 };
  const plain = await story.hits(byExamples(examples, { effort: EXACT, k: 50 }));
  const boosted = await story.hits(
    byExamples(examples, { effort: EXACT, k: 50, boosts: { mode: 'multiply', parts: [all] } }),
  );
  expect(boosted).toEqual(plain.map((hit) => ({ ...hit, score: hit.score >= 0 ? hit.score * 4 : hit.score / 4 })));
  // So much that scores are rounded away: what is nearer to a negative is left out as without it.
  const idsOf = (hits: ScoredHit[]): string[] => hits.map(({ externalId }) => externalId).sort();
  const most: Boosts = { mode: 'add', parts: [{ ...all, weight: 1e17 }] };
  const kept = await story.hits(byExamples(examples, { effort: EXACT, k: ITEMS, boosts: most }));
  expect(idsOf(kept)).toEqual(idsOf(await story.hits(byExamples(examples, { effort: EXACT, k: ITEMS }))));
  expect(kept.length).toBeGreaterThan(50);
});
