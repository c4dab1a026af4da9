import type { ShardMessage } from '../../../../../../node/engine/shard/shard-publisher';
import { ShardViews } from '../../../../../../node/engine/shard/reading/shard-views';
import type { IndexFactories } from '../../../../../../node/engine/shard/shard-indexes';
import { nativeBinding } from '../../../../../../node/engine/vector/native-binding';
import { NativeVectorIndex } from '../../../../../../node/engine/vector/native-vector-index';
import { parseFilter } from '../../../../../../shared/contract/filter/parse-filter';
import { operationsToBytes, stampMoment } from '../../../../../../shared/contract/writes/operation-codec';
import type { ShardSpec, UpsertOperation, WriteOperation } from '../../../../../../shared/contract/shard/shard-client';
import { hitsFromBytes, hitsToBytes } from '../../../../../../shared/wire/codecs/hit-codec';
import type { VectorSearch, VectorSearchResult } from '../../../../../../shared/contract/shard/shard-read';
import type { ShardStage } from '../../../../../../shared/contract/shard/shard-stage';
import { ManualClock } from '../../../../../support/manual-clock';
import { METRICS } from '../../../../../../shared/contract/vector/metric';
import { eventually } from '../../../../../support/eventually';
import { filterOf, metadataOf } from '../../../../../support/stories/inline-story';
import { runSeed, seededRandom } from '../../../../../support/values/random';
import {
  nativeFactories,
  NO_HURRY,
  openMemoryStore,
  openRocksStore,
  plainFactories,
  ShardNode,
} from '../../../../../support/shards/shard-node';

/**
 * A shard as other threads see it, on this one: messages are cloned as they are between threads. What truly runs at
 * once is tested by test/property/inline-search.
 */

const DIM = 4;
const SPEC: ShardSpec = { collectionUid: 'c', shard: 0, dim: DIM, metric: 'l2' };

let node: ShardNode;
let views: ShardViews;
let messages: ShardMessage[];
let stamp = 0;

async function start(factories: IndexFactories = nativeFactories, openStore = openMemoryStore): Promise<void> {
  node = await new ShardNode({ factories, openStore }).start();
  views = new ShardViews();
  messages = [];
}

/** From here on messages arrive at `views`. */
function follow(): () => void {
  return node.host.follow((message) => {
    const copy = structuredClone(message) as ShardMessage;
    messages.push(copy);
    views.take(copy);
  });
}

afterEach(() => node.destroy());

const item = (i: number, more: Partial<UpsertOperation> = {}): WriteOperation => ({
  type: 'upsert',
  externalId: `id-${i}`,
  vector: Float32Array.of(i, i % 7, 1, 0),
  stamp: ++stamp,
  metadata: `{"i":${i}}`,
  text: undefined,
  ...more,
});
const items = (from: number, to: number): WriteOperation[] =>
  Array.from({ length: to - from }, (_, i) => item(from + i));
const write = (operations: WriteOperation[], spec = SPEC) => node.client.write(spec, operations, NO_HURRY);
const at = (i: number, more: Partial<VectorSearch> = {}): VectorSearch => ({
  vector: Float32Array.of(i, i % 7, 1, 0),
  k: 10,
  filter: null,
  effort: { type: 'calibrated' },
  texts: false,
  ...more,
});
const asked = (request: VectorSearch, spec = SPEC) => node.client.read(spec, 'search', request, NO_HURRY);
/** An answer that was to be sent, as it arrives. */
const received = (answer: VectorSearchResult | null): VectorSearchResult | null => {
  if (answer?.wireHits === undefined) return answer;
  expect(answer.hits).toEqual([]);
  return { hits: hitsFromBytes(answer.wireHits), vectorCount: answer.vectorCount };
};
const firstOf = (request: VectorSearch) => views.search(SPEC, request)?.hits[0]?.externalId;

describe('answers', () => {
  test.each(METRICS)("are the shard's own, for %s: order, ties, scores and count", async (metric) => {
    await start();
    follow();
    const random = seededRandom(runSeed(`views ${metric}`));
    const spec = { ...SPEC, metric };
    await node.client.make(spec);
    expect(views.search(spec, at(0))).toEqual({ hits: [], vectorCount: 0 });
    for (let round = 0; round < 20; round++) {
      // Few values, so that scores tie; ids of both encodings.
      const vector = () => Float32Array.from({ length: DIM }, () => Math.floor(random() * 3));
      const operations = Array.from({ length: 40 }, () =>
        item(Math.floor(random() * 400), {
          externalId: ['a', '日本', '\ud83d'][Math.floor(random() * 3)] + Math.floor(random() * 99),
          vector: vector(),
        }),
      );
      await write(operations, spec);
      await write([{ type: 'delete', externalId: (operations[0] as UpsertOperation).externalId }], spec);
      for (const k of [1, 10, 256]) {
        for (const effort of [{ type: 'calibrated' }, { type: 'ef', ef: 50 }] as const) {
          const request = at(0, { k, effort, vector: vector() });
          const answer = views.search(spec, request);
          expect(answer).not.toBeNull();
          expect(answer).toEqual(await asked(request, spec));
          expect(received(views.search(spec, request, true))).toEqual(answer);
        }
      }
    }
  });

  test('see each change at once, also where one filter is asked again and again', async () => {
    await start();
    follow();
    await node.client.make(SPEC);
    const random = seededRandom(runSeed('views remembered filters'));
    const ROWS = 12_000;
    const withSide = (i: number, side: number): WriteOperation => item(i, { metadata: JSON.stringify({ side, i }) });
    for (let from = 0; from < ROWS; from += 3_000)
      await write(Array.from({ length: 3_000 }, (_, i) => withSide(from + i, i % 2)));
    await eventually(
      'all rows are in the graph',
      async () => (await node.client.read(SPEC, 'status', null, NO_HURRY)).index?.state === 'ready',
      240_000,
    );
    const sides = Array.from({ length: ROWS }, (_, i) => i % 2);
    const filters = [0, 1].flatMap((side) => [
      parseFilter({ side }),
      parseFilter({ side: { $gte: side, $lt: side + 0.5 }, i: { $gte: 0 } }),
    ]);
    let inline = 0;
    for (let round = 0; round < 150; round++) {
      const changed = Math.floor(random() * ROWS);
      const side = [0, 1, -1][Math.floor(random() * 3)];
      await write([side < 0 ? { type: 'delete', externalId: `id-${changed}` } : withSide(changed, side)]);
      sides[changed] = side;
      const which = Math.floor(random() * filters.length);
      for (let again = 0; again < 6; again++) {
        // So that slots are asked, and not listed.
        const request = at(changed, { filter: filters[which], effort: { type: 'ef', ef: 64 } });
        const answer = views.search(SPEC, request);
        const wanted = await asked(request);
        // A range is left to the shard until it has put its numbers in order.
        if (answer !== null) expect(answer).toEqual(wanted);
        inline += answer === null ? 0 : 1;
        expect(wanted.hits.some(({ externalId }) => externalId === `id-${changed}`)).toBe(
          sides[changed] === which >> 1,
        );
      }
    }
    expect(inline).toBeGreaterThan(800);
  });

  test('pass filters as the shard says, of every operator and type', async () => {
    await start();
    follow();
    await node.client.make(SPEC);
    const random = seededRandom(runSeed('views filters'));
    const withFields = (i: number, change: number): WriteOperation =>
      item(i, { metadata: JSON.stringify(metadataOf(i, change)) });
    await write(Array.from({ length: 1_500 }, (_, i) => withFields(i, 0)));
    await write(Array.from({ length: 300 }, (_, i) => withFields(i * 3, 1)));
    await write(Array.from({ length: 100 }, (_, i): WriteOperation => ({ type: 'delete', externalId: `id-${i * 7}` })));
    let found = 0;
    for (let i = 0; i < 600; i++) {
      const request = at(i, { filter: parseFilter(filterOf(random)), k: 20 });
      const answer = views.search(SPEC, request);
      expect(answer).toEqual(await asked(request));
      found += answer?.hits.length ?? 0;
    }
    expect(found).toBeGreaterThan(3_000);
  });

  test('pass ranges over very many distinct numbers and strings as the shard says', async () => {
    await start();
    follow();
    await node.client.make(SPEC);
    const day = (i: number): string => new Date(1.7e12 + i * 5e6).toISOString();
    await write(
      Array.from({ length: 6_000 }, (_, i) =>
        item(i, { metadata: JSON.stringify({ price: i / 8, day: day(i), group: i % 50 }) }),
      ),
    );
    // The first range over so many numbers is left to the shard, which makes a column of them.
    const first = at(3_000, { filter: parseFilter({ price: { $gte: 100.5, $lt: 120 } }) });
    expect(views.search(SPEC, first)).toBeNull();
    expect((await asked(first)).hits).not.toHaveLength(0);
    for (const filter of [
      { price: { $gte: 100.5, $lt: 120 } },
      { group: 7, price: { $gt: 300 } },
      { day: { $lt: day(77) } },
      { day: { $gt: day(5_000) }, price: { $ne: 700 } },
    ]) {
      const request = at(3_000, { filter: parseFilter(filter) });
      const alone = views.search(SPEC, request);
      // Sorted by the shard at its first range; the answer stays the same.
      expect(await asked(request)).toEqual(alone);
      await write([item(6_000, { metadata: JSON.stringify({ price: 110, day: day(5_500) }) })]);
      expect(views.search(SPEC, request)).toEqual(await asked(request));
      await write([{ type: 'delete', externalId: 'id-6000' }]);
      expect(views.search(SPEC, request)).toEqual(alone);
    }
  });

  test('are there for a thread that begins to follow late, and for each of several', async () => {
    await start();
    await node.client.make(SPEC);
    await write(items(0, 3000));
    follow();
    const others = new ShardViews();
    node.host.follow((message) => others.take(structuredClone(message)));
    expect(views.search(SPEC, at(2500))).toEqual(await asked(at(2500)));
    await write(items(3000, 6000));
    for (const one of [views, others]) expect(one.search(SPEC, at(5999))).toEqual(await asked(at(5999)));
  });

  test('show an item in its new version, and not once it is deleted', async () => {
    await start();
    follow();
    await node.client.make(SPEC);
    await write(items(0, 10));
    await write([item(3, { metadata: '{"new":true}' })]);
    expect(views.search(SPEC, at(3, { k: 1 }))?.hits).toEqual([
      { externalId: 'id-3', score: 1, metadata: '{"new":true}' },
    ]);
    await write([{ type: 'delete', externalId: 'id-3' }]);
    expect(views.search(SPEC, at(3))).toEqual(await asked(at(3)));
    expect(views.search(SPEC, at(3))?.hits).toHaveLength(9);
    expect(views.search(SPEC, at(3))?.vectorCount).toBe(9);
  });

  test('that are to be sent have the bytes that hits are sent in, made without them where ids and metadata are ASCII', async () => {
    await start();
    follow();
    await node.client.make(SPEC);
    await write(items(0, 40));
    for (const k of [1, 10, 40, 100]) {
      // Off the line, so that no two score the same.
      const request = at(7, { k, vector: Float32Array.of(7.3, 0.1, 1, 0) });
      const { hits, vectorCount } = views.search(SPEC, request)!;
      expect(views.search(SPEC, request, true)).toEqual({ hits: [], wireHits: hitsToBytes(hits), vectorCount });
      const packed = views.search(SPEC, { ...request, packed: true })!;
      expect({ ...packed, utf8Hits: hitsFromBytes(packed.utf8Hits!) }).toEqual({
        hits: [],
        utf8Hits: hits,
        vectorCount,
      });
    }
    expect(views.search(SPEC, at(7, { counted: true }), true)).toMatchObject({
      hits: Array.from({ length: 10 }, () => expect.anything()),
      cost: expect.anything(),
    });
    // The order of those that score the same is that of their ids, which are read then.
    await write([item(100, { vector: Float32Array.of(7, 0, 1, 0) })]);
    const tied = at(7, { k: 1 });
    expect(views.search(SPEC, tied, true)).toEqual(await asked(tied));
    await write([item(7, { metadata: '{"name":"é"}' })]);
    const odd = at(7, { k: 3, vector: Float32Array.of(7.3, 0.1, 1, 0) });
    expect(views.search(SPEC, odd, true)).toEqual(await asked(odd));
    expect(views.search(SPEC, odd, true)?.hits).toHaveLength(3);
  });

  test('outlive that sparse chunks are emptied and dropped', async () => {
    await start();
    follow();
    await node.client.make(SPEC);
    for (let from = 0; from < 4000; from += 500)
      await write(
        items(from, from + 500).map(
          (each) => ({ ...each, metadata: `{"note":"${'x'.repeat(2000)}"}` }) as WriteOperation,
        ),
      );
    await write(
      Array.from({ length: 4000 }, (_, i): WriteOperation => ({ type: 'delete', externalId: `id-${i}` })).filter(
        (_, i) => i % 10 !== 0,
      ),
    );
    expect(
      messages.some(
        (message) => message.type === 'part' && message.part.type === 'chunk' && message.part.memory === null,
      ),
    ).toBe(true);
    for (const i of [0, 1000, 3990]) {
      expect(firstOf(at(i))).toBe(`id-${i}`);
      expect(views.search(SPEC, at(i))).toEqual(await asked(at(i)));
    }
  });
});

test('an item that had expired for a write is not shown, though the clock was put back', async () => {
  const clock = new ManualClock();
  node = await new ShardNode({ factories: nativeFactories, openStore: openMemoryStore, clock }).start();
  views = new ShardViews(() => clock.wallMs());
  messages = [];
  follow();
  await node.client.make(SPEC);
  await write([item(0, { expiresAt: clock.wallMs() + 3_000 })]);
  clock.advance(1_000);
  expect(firstOf(at(0))).toBe('id-0');
  clock.advance(4_000);
  await write([item(1)]);
  clock.advance(-4_000);
  expect(views.search(SPEC, at(0))).toBeNull();
  expect((await asked(at(0))).hits.map(({ externalId }) => externalId)).toEqual(['id-1']);
  expect(views.search(SPEC, at(0))).toEqual(await asked(at(0)));
});

describe('null, for the shard itself to answer', () => {
  beforeEach(async () => {
    await start();
    follow();
    await node.client.make(SPEC);
    await write(items(0, 10));
    expect(views.search(SPEC, at(1))).not.toBeNull();
  });

  test('what is not known here', () => {
    expect(views.search({ ...SPEC, shard: 1 }, at(1))).toBeNull();
    expect(views.search({ ...SPEC, collectionUid: 'd' }, at(1))).toBeNull();
  });

  test.each<[string, Partial<VectorSearch>]>([
    [
      'a filter of very many conditions',
      { filter: parseFilter({ $or: Array.from({ length: 65 }, (_, i) => ({ i })) }) },
    ],
    ['texts', { texts: true }],
    ['an exact search', { effort: { type: 'exact' } }],
    ['more hits than are quick to read', { k: 257 }],
    ['a vector of another dimension', { vector: new Float32Array(DIM + 1) }],
  ])('%s', (_, more) => {
    expect(views.search(SPEC, at(1, more))).toBeNull();
  });

  test('more that tie with the last than are quick to put in order', async () => {
    const vector = new Float32Array(DIM).fill(3);
    await write(
      Array.from({ length: 300 }, (_, i): WriteOperation => ({
        type: 'upsert',
        externalId: `same-${(i * 7) % 300}`,
        vector,
        stamp: 10_000 + i,
        metadata: '{}',
        text: undefined,
      })),
    );
    expect(views.search(SPEC, { ...at(1, { k: 3 }), vector })).toBeNull();
    expect((await asked({ ...at(1, { k: 3 }), vector })).hits.map(({ externalId }) => externalId)).toEqual([
      'same-0',
      'same-1',
      'same-10',
    ]);
    expect(views.search(SPEC, { ...at(1, { k: 50 }), vector })).toEqual(await asked({ ...at(1, { k: 50 }), vector }));
  });

  test('a filter while an item is in no list', async () => {
    const filter = parseFilter({ i: { $gte: 0 } });
    expect(views.search(SPEC, at(1, { filter }))).toEqual(await asked(at(1, { filter })));
    // More fields and values than the lists take.
    const own = (id: number): string =>
      JSON.stringify(Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`own-${id}-${i}`, id])));
    for (let from = 10; from < 200; from += 10)
      await write(items(from, from + 10).map((each, i) => ({ ...each, metadata: own(from + i) }) as WriteOperation));
    expect(views.search(SPEC, at(1, { filter }))).toBeNull();
    expect((await asked(at(1, { filter }))).hits).toHaveLength(10);
    await write(
      Array.from({ length: 190 }, (_, i): WriteOperation => ({ type: 'delete', externalId: `id-${10 + i}` })),
    );
    expect(views.search(SPEC, at(1, { filter }))?.hits).toHaveLength(10);
  });

  test('a change under way, and one that came in between', () => {
    const { changes } = messages[0] as Extract<ShardMessage, { type: 'opened' }>;
    Atomics.add(new Int32Array(changes), 0, 1);
    expect(views.search(SPEC, at(1))).toBeNull();
    Atomics.add(new Int32Array(changes), 0, 1);
    expect(views.search(SPEC, at(1))).not.toBeNull();
    const searchInline = nativeBinding().searchInline;
    const overtaken = jest.spyOn(nativeBinding(), 'searchInline').mockImplementationOnce((...search) => {
      Atomics.add(new Int32Array(changes), 0, 2);
      return searchInline(...search);
    });
    expect(views.search(SPEC, at(1))).toBeNull();
    expect(overtaken).toHaveBeenCalledTimes(1);
    overtaken.mockRestore();
    expect(views.search(SPEC, at(1))).not.toBeNull();
  });

  test('an item of which a part has not arrived; the others are answered, and it is once the part is here', async () => {
    const held: ShardMessage[] = [];
    const late = new ShardViews();
    let isHeld = false;
    node.host.follow((message) =>
      isHeld ? held.push(structuredClone(message) as ShardMessage) : late.take(structuredClone(message)),
    );
    isHeld = true;
    await write(items(10, 3000));
    expect(held.map((message) => message.type === 'part' && message.part.type)).toEqual(
      expect.arrayContaining(['page', 'chunk']),
    );
    expect(late.search(SPEC, at(5, { k: 3 }))).toEqual(await asked(at(5, { k: 3 })));
    expect(late.search(SPEC, at(2900))).toBeNull();
    for (const message of held) late.take(message);
    expect(late.search(SPEC, at(2900))).toEqual(await asked(at(2900)));
  });

  test('a dropped shard, at once; one opened under its name is another', async () => {
    await node.client.drop(SPEC);
    expect(views.search(SPEC, at(1))).toBeNull();
    await node.client.make(SPEC);
    expect(views.search(SPEC, at(1))).toEqual({ hits: [], vectorCount: 0 });
    await write(items(50, 60));
    expect(firstOf(at(1))).toBe('id-50');
  });

  test('a shard that closed, even if its message has not arrived', async () => {
    const deaf = new ShardViews();
    for (const message of messages) deaf.take(message);
    expect(deaf.search(SPEC, at(1))).not.toBeNull();
    await node.stop();
    expect(deaf.search(SPEC, at(1))).toBeNull();
    expect(messages.at(-1)).toEqual({ type: 'closed', key: 'c/0' });
    // A thread that begins only now hears of nothing.
    messages = [];
    follow();
    expect(messages).toEqual([]);
    await node.start();
  });

  test('views that closed', () => {
    views.close();
    views.take(messages[0]);
    expect(views.search(SPEC, at(1))).toBeNull();
    views.close();
  });
});

test('a shard on its way to others is answered as long as it answers reads itself, at each start too', async () => {
  await start(nativeFactories, openRocksStore);
  follow();
  await node.client.make(SPEC);
  await write(items(0, 10));
  const pass = (stage: ShardStage): Promise<unknown> =>
    write([{ type: 'stage', term: 1, reshard: 'r', stage, forget: 0 }]);
  for (const stage of ['tracking', 'sealed'] as const) {
    await pass(stage);
    expect(firstOf(at(1))).toBe('id-1');
  }
  await pass('closed');
  expect(views.search(SPEC, at(1))).toBeNull();
  await expect(asked(at(1))).rejects.toMatchObject({ kind: 'resharded' });
  await node.restart();
  follow();
  await node.client.make(SPEC);
  expect(messages.at(-1)?.type).toBe('opened');
  expect(views.search(SPEC, at(1))).toBeNull();
  await pass('open');
  expect(firstOf(at(1))).toBe('id-1');
});

describe('what has expired by the clock of the shard is not shown, whatever the clock says by then', () => {
  const LIFE_MS = 5_000;
  let clock: ManualClock;

  /** Two items, of which the second expires. */
  beforeEach(async () => {
    clock = new ManualClock();
    node = await new ShardNode({ factories: nativeFactories, openStore: openMemoryStore, clock }).start();
    views = new ShardViews(() => clock.wallMs());
    messages = [];
    follow();
    await node.client.make(SPEC);
    await write([item(0), item(1, { expiresAt: clock.wallMs() + LIFE_MS })]);
    expect(firstOf(at(1))).toBe('id-1');
  });

  async function expectGone(): Promise<void> {
    expect(firstOf(at(1))).not.toBe('id-1');
    expect((await asked(at(1))).hits.map(({ externalId }) => externalId)).not.toContain('id-1');
    expect(views.search(SPEC, at(1))).toEqual(await asked(at(1)));
  }

  test('after a write that a primary gave a later moment', async () => {
    const payload = operationsToBytes([item(2)]);
    stampMoment(payload, clock.wallMs() + LIFE_MS);
    const shard = await node.host.shard(SPEC);
    await shard.applyLogged([payload], () => []);
    await expectGone();
  });

  test('after a write, when the clock is put back', async () => {
    clock.advance(LIFE_MS);
    await write([item(2)]);
    clock.advance(-LIFE_MS);
    await expectGone();
  });

  test('when it is put with a time that is over by then', async () => {
    await write([{ type: 'delete', externalId: 'id-1' }]);
    clock.advance(LIFE_MS);
    await write([item(2)]);
    clock.advance(-LIFE_MS);
    await write([item(1, { expiresAt: clock.wallMs() + LIFE_MS / 2 })]);
    await expectGone();
  });
});

test('who stops following gets no more messages', async () => {
  await start();
  const end = follow();
  await node.client.make(SPEC);
  const count = messages.length;
  expect(count).toBeGreaterThan(0);
  end();
  end();
  await write(items(0, 3000));
  expect(messages).toHaveLength(count);
});

test('new items alone do not count as a change', async () => {
  await start();
  follow();
  await node.client.make(SPEC);
  const { changes } = messages[0] as Extract<ShardMessage, { type: 'opened' }>;
  await write(items(0, 5000));
  expect(new Int32Array(changes)[0]).toBe(0);
  await write([item(0)]);
  expect(new Int32Array(changes)[0]).toBe(2);
  await write([{ type: 'delete', externalId: 'id-0' }]);
  expect(new Int32Array(changes)[0]).toBe(4);
});

test('an index that other threads cannot search is not published', async () => {
  await start(plainFactories);
  follow();
  await node.client.make(SPEC);
  await write(items(0, 10));
  expect(messages).toEqual([]);
  expect(views.search(SPEC, at(1))).toBeNull();
});

test.each([
  ['new items', [item(500)]],
  ['a replaced item', [item(3, { metadata: '{"new":true}' })]],
])(
  'a shard whose vectors cannot take %s answers nothing until it is opened anew, and then what is stored',
  async (_, operations) => {
    let fails = false;
    const factories: IndexFactories = {
      ...nativeFactories,
      openVectorIndex: async (options, save) => {
        const index = await NativeVectorIndex.open(options, save);
        const put = index.put.bind(index);
        index.put = (slots, vectors) => {
          if (fails) throw new Error('the disk is full');
          put(slots, vectors);
        };
        return index;
      },
    };
    await start(factories, openRocksStore);
    follow();
    await node.client.make(SPEC);
    await write(items(0, 10));
    const before = messages.filter((message) => message.type === 'opened').length;
    fails = true;
    const failing = write(operations).catch((error: { kind?: string }) => error.kind);
    expect(await failing).toBe('commit_unknown');
    expect(views.search(SPEC, at(1))).toBeNull();
    fails = false;
    await eventually(
      'the shard is open again',
      () => messages.filter((message) => message.type === 'opened').length === before + 1,
    );
    for (const request of [at(3, { k: 1 }), at(500, { k: 1 })])
      expect(views.search(SPEC, request)).toEqual(await asked(request));
  },
);
