import type { HitContext, ScoredHit, VectorInput } from '../../coordinator/service/service';
import type { Expansion, Grouping } from '../../coordinator/service/search-request';
import { chunkText } from '../../coordinator/service/documents/chunk';
import { contextOf } from '../../coordinator/service/search/chunk-windows';
import { newCollection, type PlainService, plainService } from '../support/shards/plain-service';
import { graphFactories, openMemoryStore, ShardNode } from '../support/shards/shard-node';
import { nearest } from '../support/stories/search-forms';
import { runSeed, seededRandom } from '../support/values/random';

/** Contexts of hits, against all items that are there. */

const DIM = 4;
const WINDOW_MAX = 64;
const seed = runSeed('expanded-search');

let nodes: ShardNode[] = [];

afterEach(async () => {
  for (const node of nodes) await node.destroy();
  nodes = [];
});

/** An item, in the order in which it was inserted. */
interface Stored {
  id: string;
  document: unknown;
  index: unknown;
  text: string | null;
}

function isChunk({ document, index }: Stored): boolean {
  return (
    (typeof document === 'number' || (typeof document === 'string' && document.length <= 512)) &&
    typeof index === 'number' &&
    Number.isSafeInteger(index) &&
    index >= 0
  );
}

function isNamed({ id, document, index }: Stored): boolean {
  return typeof document === 'string' && id === `${document}-chunk-${index as number}`;
}

/** What hits are to have, looked up one by one. */
function expectedContexts(
  hits: readonly string[],
  items: readonly Stored[],
  { before, after }: Expansion,
): (HitContext | null)[] {
  const ofHit = (id: string): Stored => items.find((one) => one.id === id)!;
  return hits.map((id) => {
    const own = ofHit(id);
    if (!isChunk(own)) return null;
    const isOfIt = (one: Stored): boolean =>
      isChunk(one) && one.document === own.document && isNamed(one) === isNamed(own);
    const indexes = [
      ...new Set(
        hits
          .map(ofHit)
          .filter(isOfIt)
          .map(({ index }) => index as number),
      ),
    ];
    const windows: { from: number; to: number; of: number[] }[] = [];
    for (const index of indexes.sort((a, b) => a - b)) {
      const last = windows.at(-1);
      if (last !== undefined && index - before <= last.to + 1 && index + after - last.from < WINDOW_MAX) {
        last.to = index + after;
        last.of.push(index);
      } else windows.push({ from: Math.max(0, index - before), to: index + after, of: [index] });
    }
    const { from, to } = windows.find(({ of }) => of.includes(own.index as number))!;
    const chunks = [];
    for (let index = from; index <= to; index += 1) {
      const found = items.find((one) => isOfIt(one) && one.index === index);
      if (found !== undefined) chunks.push({ index, externalId: found.id, text: found.text ?? '' });
    }
    return contextOf(chunks);
  });
}

async function run(round: number, shards: number): Promise<(HitContext | null)[][]> {
  const random = seededRandom(seed + round);
  const below = (bound: number): number => Math.floor(random() * bound);
  const pick = <T>(values: readonly T[]): T => values[below(values.length)];
  const vector = (): Float32Array => Float32Array.from({ length: DIM }, () => random() - 0.5);
  const node = await new ShardNode({ factories: graphFactories('int8'), openStore: openMemoryStore }).start();
  nodes.push(node);
  const { service }: PlainService = await plainService({ shardClient: node.client });
  await service.collections.create(newCollection('c', { dim: DIM, metric: 'cosine', shards }));
  let items: Stored[] = [];
  const put = async (stored: Stored[]): Promise<void> => {
    const input = stored.map(({ id, document, index, text }): VectorInput => ({
      externalId: id,
      source: { vector: vector() },
      metadata: JSON.stringify({ document_id: document, chunk_index: index, group: below(3) }),
      text: text ?? undefined,
    }));
    // One at a time, so that the order in which they are inserted is known.
    for (const one of input) await service.vectors.upsert('c', [one]);
    items.push(...stored);
  };
  const text = Array.from({ length: 160 }, () => pick(['red', 'green', 'a', 'naïve', 'stone.', '我们'])).join(' ');
  const cut = [...chunkText(text, { size: 60, overlap: 12 })].map((chunk) => chunk.text);
  for (const document of ['d1', 'd2', 'd"3'])
    await put(
      cut.slice(0, 5 + below(9)).map((one, index) => ({
        id: `${document}-chunk-${index}`,
        document,
        index,
        text: one,
      })),
    );
  const places = Array.from({ length: 40 }, (_, i): Stored => ({
    id: `i-${i}`,
    document: pick<unknown>(['own', 'own', 7, '7', 'd1', ['own'], null, true, 'x'.repeat(512), 'x'.repeat(513)]),
    index: pick<unknown>([below(12), below(12), below(12), 2.5, '3', -1, null, [3]]),
    text: pick([null, '', cut[i % cut.length]]),
  }));
  await put(places);
  const told: (HitContext | null)[][] = [];
  for (let i = 0; i < 14; i += 1) {
    if (i === 7) {
      const gone = items.filter(() => below(4) === 0).map(({ id }) => id);
      await service.vectors.delete('c', gone);
      items = items.filter(({ id }) => !gone.includes(id));
    }
    const expand = pick([
      { before: 1, after: 1 },
      { before: 0, after: 0 },
      { before: 10, after: 3 },
      { before: 0, after: 2 },
    ]);
    const groups = pick<Grouping | undefined>([undefined, undefined, { path: 'group', size: 2, missing: 'leave_out' }]);
    const request = nearest({
      source: { vector: vector() },
      k: pick([1, 5, 20, 100]),
      effort: { type: 'exact' },
      groups,
    });
    request.output.expand = expand;
    const plain = await service.search.search('c', { ...request, output: { texts: false } });
    const hits = plain.hits.map(({ externalId }) => externalId);
    const search = async (): Promise<ScoredHit[]> => {
      const found = await service.search.search('c', request);
      const given: ScoredHit[] = [];
      for await (const page of found.later!.pagesOf(found.hits)) given.push(...page);
      return given;
    };
    if (!hits.some((id) => isChunk(items.find((one) => one.id === id)!))) {
      await expect(search()).rejects.toThrow('no result has both');
      continue;
    }
    const given = await search();
    expect(given.map(({ externalId }) => externalId)).toEqual(hits);
    const contexts = given.map(({ context }) => context!);
    expect(contexts).toEqual(expectedContexts(hits, items, expand));
    told.push(contexts);
  }
  return told;
}

test('contexts are those of the chunks that are there, over 1, 2 and 5 shards', async () => {
  const one = await run(1, 1);
  expect(await run(1, 2)).toEqual(one);
  expect(await run(1, 5)).toEqual(one);
  expect(one.flat().filter((context) => context !== null).length).toBeGreaterThan(20);
});

test('an item beside an upload of the same document_id has its own text around', async () => {
  const node = await new ShardNode({ factories: graphFactories('int8'), openStore: openMemoryStore }).start();
  nodes.push(node);
  const { service } = await plainService({ shardClient: node.client });
  await service.collections.create(newCollection('c', { dim: DIM, metric: 'cosine', shards: 1 }));
  const ids = ['d-chunk-0', 'd-chunk-1', 'own'];
  for (const [i, externalId] of ids.entries())
    await service.vectors.upsert('c', [
      {
        externalId,
        source: { vector: Float32Array.of(1, i, 0, 0) },
        metadata: JSON.stringify({ document_id: 'd', chunk_index: i % 2 }),
        text: externalId,
      },
    ]);
  const request = nearest({ source: { vector: Float32Array.of(1, 2, 0, 0) }, k: 1, effort: { type: 'exact' } });
  request.output.expand = { before: 0, after: 1 };
  const found = await service.search.search('c', request);
  const given: ScoredHit[] = [];
  for await (const page of found.later!.pagesOf(found.hits)) given.push(...page);
  expect(given.map(({ externalId, context }) => [externalId, context])).toEqual([
    ['own', { text: 'own', fromChunk: 0, toChunk: 0, chunks: [{ index: 0, externalId: 'own', at: 0, end: 3 }] }],
  ]);
});
