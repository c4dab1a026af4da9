import { readdirSync, rmSync, statSync, truncateSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseFilter } from '../../shared/contract/filter/parse-filter';
import { METRICS } from '../../shared/contract/vector/metric';
import {
  NO_VERSION,
  type Conditional,
  ANY_VERSION,
  type ShardClient,
  type ShardSpec,
  type WriteOperation,
} from '../../shared/contract/shard/shard-client';
import type { Expiring } from '../../shared/contract/writes/expiry';
import type { Hit, StoredItem, VectorSearchResult } from '../../shared/contract/shard/shard-read';
import { ShardViews } from '../../node/engine/shard/reading/shard-views';
import { ManualClock } from '../support/manual-clock';
import { PlainShardClient } from '../support/shards/plain-shard-client';
import { runSeed, seededRandom } from '../support/values/random';
import {
  NO_HURRY,
  ShardNode,
  diskFactories,
  nativeFactories,
  openRocksStore,
  plainFactories,
} from '../support/shards/shard-node';

const START_MS = 1_700_000_000_000;
const STEPS = Number(process.env.STEPS ?? 250);
const DIM = 8;
const WORDS = ['ant', 'bee', 'cat', 'dog', 'elk', 'fox', 'gnu', 'hen'];

/** Draws everything that a run of operations needs. */
class Dice {
  private stamp = 1000;
  /** About the last that was given. */
  lastVersion = 1000;

  constructor(readonly random: () => number) {}

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  oneOf<Choice>(choices: readonly Choice[]): Choice {
    return choices[this.below(choices.length)];
  }

  /** Few distinct values, so that scores tie. */
  vector(): Float32Array {
    return Float32Array.from({ length: DIM }, () => this.below(5) - 2 + (this.random() < 0.5 ? this.random() : 0));
  }

  id(): string {
    return this.oneOf([`id-${this.below(120)}`, `\ud83d${this.below(9)}`, `日本-${this.below(9)}`]);
  }

  text(): string {
    return Array.from({ length: this.below(6) }, () => this.oneOf(WORDS)).join(' ');
  }

  metadata(): string {
    return JSON.stringify({
      ...(this.random() < 0.8 ? { n: this.below(20) } : {}),
      ...(this.random() < 0.5 ? { tag: this.oneOf(WORDS), list: [this.below(3), this.oneOf(WORDS)] } : {}),
      ...(this.random() < 0.3 ? { at: { lat: 90 - this.below(4), lon: 179 - this.below(360) } } : {}),
      ...(this.random() < 0.2 ? { deep: { n: this.below(3), note: 'x'.repeat(this.below(2000)) } } : {}),
    });
  }

  /** Mostly none: times that come soon, and never. */
  private expiring(nowMs: number): Expiring {
    if (this.random() < 0.5) return {};
    const expiresAt = this.oneOf([undefined, null, nowMs + this.below(40), nowMs + 1_000_000]);
    return { ...(expiresAt !== undefined && { expiresAt }), ...(this.random() < 0.5 && { ttlMs: 1 + this.below(40) }) };
  }

  /** Mostly none; mostly one that a conflict does not spoil the whole write for. */
  private condition(): Conditional {
    if (this.random() < 0.8) return {};
    return {
      expected: this.oneOf([NO_VERSION, ANY_VERSION, this.lastVersion - this.below(20)]),
      alone: this.random() < 0.8,
    };
  }

  operation(nowMs: number): WriteOperation {
    if (this.random() < 0.3) return { type: 'delete', externalId: this.id(), ...this.condition() };
    if (this.random() < 0.1)
      return { type: 'delete', externalId: this.id(), filter: this.filter().filter ?? undefined };
    if (this.random() < 0.2) {
      const json = this.oneOf([
        '{"n":null}',
        '{"deep":{"n":7,"note":null}}',
        '{"tag":{"x":{"y":1}}}',
        '{"n":3,"list":[null]}',
      ]);
      const metadata = { json, replaces: this.random() < 0.1, bytesMax: 1500, fieldsMax: 1000 };
      const { filter } = this.filter();
      return {
        type: 'patch',
        externalId: this.id(),
        vector: this.random() < 0.2 ? this.vector() : undefined,
        text: this.random() < 0.2 ? this.text() : undefined,
        metadata: this.random() < 0.9 ? metadata : undefined,
        ...(filter !== null && this.random() < 0.2 && { filter }),
        ...this.expiring(nowMs),
        ...this.condition(),
      };
    }
    return {
      type: 'upsert',
      externalId: this.id(),
      vector: this.vector(),
      // Now and then the same stamp twice: two coordinators may give it.
      stamp: (this.stamp += this.below(3)),
      metadata: this.random() < 0.6 ? this.metadata() : undefined,
      text: this.random() < 0.4 ? this.text() : undefined,
      ...this.expiring(nowMs),
      ...this.condition(),
    };
  }

  filter() {
    const json = this.oneOf<Record<string, unknown>>([
      {},
      { n: this.below(20) },
      { n: { $gte: this.below(20) } },
      { tag: { $in: [this.oneOf(WORDS), this.oneOf(WORDS)] } },
      { $not: { tag: this.oneOf(WORDS) } },
      { $or: [{ n: { $lt: 5 } }, { 'deep.n': this.below(3) }] },
      { list: { $exists: false } },
      { list: { $size: this.below(3) } },
      { list: { $elem_match: { $gte: this.below(3), $lt: 2 } } },
      { list: { $all: [this.below(3), this.oneOf(WORDS)] } },
      { at: { $geo_radius: { lat: 89, lon: -179.5, metres: 100_000 * this.below(4) } } },
      { $id: [this.id(), this.id(), this.id()] },
      { $expires_at: { $exists: this.random() < 0.5 } },
      { $updated: { [this.oneOf(['$gt', '$lte'])]: new Date(START_MS + this.below(300)).toISOString() } },
      {
        $text: { query: `${this.oneOf(WORDS)} ${this.oneOf(WORDS)}`, match: this.random() < 0.5 ? 'any' : 'all' },
        $not: { $text: { query: this.oneOf(WORDS), ...(this.random() < 0.5 && { fields: ['tag', 'list'] }) } },
      },
    ]);
    return { filter: parseFilter(json), json };
  }
}

/** The answers to everything that can be asked, from a client. */
async function answers(
  client: ShardClient,
  id: ShardSpec,
  dice: {
    query: Float32Array;
    terms: string[];
    filter: ReturnType<Dice['filter']>['filter'];
    k: number;
    ids: string[];
  },
) {
  const { query, terms, filter, k, ids } = dice;
  const statistics = await client.read(id, 'keywordStatistics', { terms }, NO_HURRY);
  const status = await client.read(id, 'status', null, NO_HURRY);
  return {
    count: await client.read(id, 'count', null, NO_HURRY),
    vectorCount: status.vectorCount,
    search: (
      await client.read(id, 'search', { vector: query, k, filter, effort: { type: 'exact' }, texts: true }, NO_HURRY)
    ).hits,
    score: await client.read(id, 'score', { vector: query, externalIds: ids }, NO_HURRY),
    statistics,
    keywordSearch: await client.read(id, 'keywordSearch', { terms, statistics, k, filter }, NO_HURRY),
    fetch: await client.read(
      id,
      'fetch',
      { externalIds: ids, vectors: true, versions: true, expiries: true, dates: true },
      NO_HURRY,
    ),
    scan: await client.read(
      id,
      'scan',
      { after: null, limit: 10_000, filter: null, vectors: true, versions: true, expiries: true, dates: true },
      NO_HURRY,
    ),
    filtered: await pagesOf(client, id, filter, 1 + (k % 7)),
  };
}

async function pagesOf(
  client: ShardClient,
  id: ShardSpec,
  filter: ReturnType<Dice['filter']>['filter'],
  limit: number,
): Promise<StoredItem[]> {
  const items: StoredItem[] = [];
  for (;;) {
    const page = await client.read(
      id,
      'scan',
      { after: items.at(-1) ?? null, limit, filter, vectors: false },
      NO_HURRY,
    );
    items.push(...page);
    if (page.length < limit) return items;
  }
}

const DAMAGES = [
  'none',
  'manifest missing',
  'manifest garbled',
  'a file missing',
  'a file cut',
  'a file garbled',
  'vectors missing',
  'vectors garbled',
] as const;

/** Does to a closed shard's checkpoint what a bad disk might. */
function damage(folder: string, kind: (typeof DAMAGES)[number], dice: Dice): void {
  const checkpoint = readdirSync(folder).find((name) => name.startsWith('checkpoint-'));
  if (kind === 'none' || checkpoint === undefined) return;
  const part = join(folder, checkpoint, dice.oneOf(['directory', 'filters', 'keywords']));
  const vectors = readdirSync(join(folder, 'vectors')).map((name) => join(folder, 'vectors', name));
  switch (kind) {
    case 'manifest missing':
      return rmSync(join(folder, 'MANIFEST.json'));
    case 'manifest garbled':
      return garble(join(folder, 'MANIFEST.json'), dice);
    case 'a file missing':
      return rmSync(part);
    case 'a file cut':
      return truncateSync(part, dice.below(statSync(part).size));
    case 'a file garbled':
      return garble(part, dice);
    case 'vectors missing':
      return rmSync(dice.oneOf(vectors), { recursive: true });
    case 'vectors garbled':
      return garble(dice.oneOf(vectors.filter((path) => !path.endsWith('.f32') && statSync(path).isFile())), dice);
  }
}

function garble(path: string, dice: Dice): void {
  const bytes = readFileSync(path);
  bytes[dice.below(bytes.length)] ^= 1 << dice.below(8);
  writeFileSync(path, bytes);
}

describe.each([
  ['vectors compared one by one', plainFactories, 'memory'],
  ['the native index', nativeFactories, 'memory'],
  ['the native index, and metadata on it', nativeFactories, 'disk'],
  ['an index of segments', diskFactories, 'memory'],
] as const)('a shard on disk with %s', (_name, factories, metadata) => {
  test('answers as a plain map does, over writes, checkpoints, restarts and damaged checkpoints', async () => {
    const seed = runSeed('shard model');
    const dice = new Dice(seededRandom(seed));
    const clock = new ManualClock(START_MS);
    const node = await new ShardNode({ factories, openStore: openRocksStore, clock }).start();
    const views = new ShardViews(() => clock.wallMs());
    const follow = (): void => void node.host.follow((message) => views.take(message));
    follow();
    const plain = new PlainShardClient({ clock, dated: true });
    const spec: ShardSpec = {
      collectionUid: 'model',
      shard: 0,
      dim: DIM,
      metric: dice.oneOf(METRICS),
      metadata,
      ...(factories === diskFactories && { vectors: 'disk' as const }),
    };
    const trace: string[] = [`SEED=${seed} ${spec.metric}`];
    try {
      await Promise.all([node.client.make(spec), plain.make(spec)]);
      let checkpointing: Promise<void> = Promise.resolve();
      for (let step = 0; step < STEPS; step++) {
        if (dice.random() < 0.4) clock.advance(dice.below(12));
        if (dice.random() < 0.1) {
          // What the background does, which nobody sees.
          const expired = await (await node.host.shard(spec)).expired(dice.below(20));
          await node.client.write(
            spec,
            [...expired, dice.id()].map((externalId) => ({ type: 'expire', externalId })),
            NO_HURRY,
          );
        }
        const roll = dice.random();
        if (roll < 0.62) {
          const batch = Array.from({ length: dice.random() < 0.1 ? 150 : 1 + dice.below(8) }, () =>
            dice.operation(clock.wallMs()),
          );
          trace.push(`write ${batch.length}`);
          const [outcomes, expected] = await Promise.all([
            node.client.write(spec, batch, NO_HURRY),
            plain.write(spec, batch, NO_HURRY),
          ]);
          expect(outcomes).toEqual(expected);
          dice.lastVersion = expected.firstVersion + batch.length;
        } else if (roll < 0.75) {
          trace.push('checkpoint, writes going on');
          await checkpointing;
          checkpointing = (await node.host.shard(spec)).checkpoint();
        } else if (roll < 0.8) {
          const kind = dice.oneOf(DAMAGES);
          trace.push(`restart, ${kind}`);
          await checkpointing;
          await node.stop();
          damage(join(node.folder, 'shards', 'model', '0'), kind, dice);
          if (dice.random() < 0.3) clock.advance(dice.below(40));
          await node.start();
          follow();
          await node.client.make(spec);
        } else {
          const { filter, json } = dice.filter();
          const questions = {
            query: dice.vector(),
            terms: [...new Set([dice.oneOf(WORDS), dice.oneOf(WORDS)])],
            filter,
            k: dice.oneOf([1, 3, 10, 500]),
            ids: Array.from({ length: 12 }, () => dice.id()),
          };
          trace.push(`ask k ${questions.k} filter ${JSON.stringify(json)}`);
          const [actual, expected] = await Promise.all([
            answers(node.client, spec, questions),
            answers(plain, spec, questions),
          ]);
          compare(actual, expected);
          compareInline(
            views.search(spec, {
              ...questions,
              vector: questions.query,
              effort: { type: 'ef', ef: 1000 },
              texts: false,
            }),
            expected,
          );
        }
      }
      await checkpointing;
    } catch (error) {
      console.log(trace.slice(-40).join('\n'));
      throw error;
    } finally {
      await node.destroy();
    }
  });
});

type Answers = Awaited<ReturnType<typeof answers>>;

/**
 * Scores are float32 arithmetic in one and double in the other: equal up to that, and so is who is among the best k.
 */
function compare(actual: Answers, expected: Answers): void {
  const { search, keywordSearch, score, ...exact } = actual;
  const {
    search: expectedSearch,
    keywordSearch: expectedKeywordSearch,
    score: expectedScore,
    ...expectedExact
  } = expected;
  expect(exact).toEqual(expectedExact);
  compareHits(search, expectedSearch);
  compareHits(keywordSearch, expectedKeywordSearch);
  expect(score.map(withoutScore)).toEqual(expectedScore.map(withoutScore));
  score.forEach((hit, i) => expect(Math.abs(hit.score - expectedScore[i].score)).toBeLessThan(1e-4));
}

function compareHits(actual: Hit[], expected: Hit[]): void {
  expect(actual).toHaveLength(expected.length);
  const byId = new Map(expected.map((hit) => [hit.externalId, hit]));
  actual.forEach((hit, i) => {
    expect(Math.abs(hit.score - expected[i].score)).toBeLessThan(1e-4);
    const same = byId.get(hit.externalId);
    if (same !== undefined) expect(withoutScore(hit)).toEqual(withoutScore(same));
    const before = actual[i - 1];
    if (before !== undefined)
      expect(before.score > hit.score || (before.score === hit.score && before.externalId < hit.externalId)).toBe(true);
  });
}

/** What another thread finds, where it answers at all. */
function compareInline(found: VectorSearchResult | null, { search, count }: Answers): void {
  if (found === null) return;
  expect(found.vectorCount).toBe(count);
  compareHits(
    found.hits,
    search.map(({ externalId, score, metadata }) => ({ externalId, score, metadata })),
  );
}

function withoutScore(hit: Hit): Omit<Hit, 'score'> {
  const { score: _, ...rest } = hit;
  return rest;
}
