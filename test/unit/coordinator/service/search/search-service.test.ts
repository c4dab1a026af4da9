import type { RerankProvider } from '../../../../../coordinator/models/rerank/reranker';
import type { SearchRequest } from '../../../../../coordinator/service/search-request';
import type { ScoredHit } from '../../../../../coordinator/service/service';
import { parseFilter } from '../../../../../shared/contract/filter/parse-filter';
import type { Metric } from '../../../../../shared/contract/vector/metric';
import {
  item,
  markingModel,
  newCollection,
  PlainEmbedding,
  plainService,
  textItem,
} from '../../../../support/shards/plain-service';
import {
  asked,
  fused,
  like,
  listed,
  nearest,
  ofLegs,
  type FusedInput,
  type NearestInput,
} from '../../../../support/stories/search-forms';

/** coordinator/service/search/sharded-search-service.ts over shards by brute force. */

async function setUp(given: { shards?: number; dim?: number; metric?: Metric; embedding?: PlainEmbedding } = {}) {
  const parts = await plainService({ embedding: given.embedding });
  await parts.service.collections.create(
    newCollection('c', { shards: given.shards ?? 3, dim: given.dim, metric: given.metric }),
  );
  return { ...parts, vectors: parts.service.vectors, search: parts.service.search };
}

function vectorSearch(vector: number[], given: Partial<NearestInput> = {}): SearchRequest {
  return nearest({ source: { vector: Float32Array.from(vector) }, ...given });
}

function hybrid(queryText: string, given: Partial<FusedInput> = {}): SearchRequest {
  return fused({ queryText, ...given });
}

const ids = (hits: ScoredHit[]): string[] => hits.map(({ externalId }) => externalId);
/** Angles in degrees as unit vectors. */
const at = (degrees: number): number[] => [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)];

describe('search', () => {
  test('ranks by score, tells the size of the whole collection, and pages', async () => {
    const { vectors, search } = await setUp();
    await vectors.upsert(
      'c',
      [30, 10, 50, 20, 40].map((degrees) => item(`at-${degrees}`, at(degrees), { metadata: { degrees } })),
    );
    const { hits, totalCount } = await search.search('c', vectorSearch(at(0), { k: 2 }));
    expect(hits).toEqual([
      { externalId: 'at-10', score: expect.closeTo(Math.cos(Math.PI / 18), 6), metadata: '{"degrees":10}' },
      { externalId: 'at-20', score: expect.closeTo(Math.cos(Math.PI / 9), 6), metadata: '{"degrees":20}' },
    ]);
    expect(totalCount).toBe(5);
    expect(ids((await search.search('c', vectorSearch(at(0), { k: 2, offset: 3 }))).hits)).toEqual(['at-40', 'at-50']);
    expect((await search.search('c', vectorSearch(at(0), { k: 2, offset: 5 }))).hits).toEqual([]);
    const filtered = await search.search('c', vectorSearch(at(0), { filter: parseFilter({ degrees: { $gte: 30 } }) }));
    expect([ids(filtered.hits), filtered.totalCount]).toEqual([['at-30', 'at-40', 'at-50'], 5]);
  });

  test('pages over equal scores neither overlap nor skip', async () => {
    const { vectors, search } = await setUp({ shards: 5 });
    const all = Array.from({ length: 100 }, (_, i) => `same-${i}`);
    await vectors.upsert(
      'c',
      all.map((id) => item(id, [1, 1])),
    );
    const paged: string[] = [];
    for (let offset = 0; offset < 105; offset += 7)
      paged.push(...ids((await search.search('c', vectorSearch([1, 1], { k: 7, offset }))).hits));
    expect(paged).toEqual([...all].sort());
  });

  test('embeds a text as a query, with the collection’s model', async () => {
    const { vectors, search, embedding } = await setUp({ dim: 256 });
    await vectors.upsert('c', [textItem('cat', 'the cat sat on the mat'), textItem('tax', 'annual tax report')]);
    const { hits, timing } = await search.search('c', vectorSearch([], { source: { text: 'cat on a mat' }, k: 1 }));
    expect(ids(hits)).toEqual(['cat']);
    expect(hits[0]).not.toHaveProperty('text');
    expect(embedding.calls.at(-1)).toEqual({ model: 'builtin', kind: 'query', texts: ['cat on a mat'] });
    expect(timing.totalMs).toBeCloseTo(timing.embeddingMs + timing.searchMs, 6);
  });

  test('refuses another dimension, of the vector or of the model', async () => {
    const { search } = await setUp({ embedding: new PlainEmbedding([markingModel('mini', 384, 1)]) });
    await expect(async () => search.search('c', vectorSearch([1, 2, 3]))).rejects.toMatchObject({
      kind: 'dimension_mismatch',
      message: 'dimension mismatch: the vector has dimension 3, but collection "c" has dimension 2',
    });
    await expect(search.search('c', asked({ text: 'x', k: 1, filter: null }))).rejects.toMatchObject({
      kind: 'dimension_mismatch',
      message:
        'dimension mismatch: collection "c" has dimension 2, but the embedding model mini makes vectors of dimension 384; give vectors, or make a collection with dim 384 for texts',
    });
  });
});

describe('a least score', () => {
  test('leaves out what scores less, of every page, and counts the collection as before', async () => {
    const { vectors, search } = await setUp();
    await vectors.upsert(
      'c',
      [0, 30, 60, 90].map((degrees) => item(`at-${degrees}`, at(degrees))),
    );
    const all = await search.search('c', vectorSearch(at(0)));
    for (const [i, { score }] of all.hits.entries()) {
      const { hits, totalCount } = await search.search('c', vectorSearch(at(0), { minScore: score }));
      expect([hits, totalCount]).toEqual([all.hits.slice(0, i + 1), 4]);
      const page = await search.search('c', vectorSearch(at(0), { minScore: score, k: 2, offset: 1 }));
      expect(page.hits).toEqual(all.hits.slice(0, i + 1).slice(1, 3));
    }
    expect((await search.search('c', vectorSearch(at(0), { minScore: 1.5 }))).hits).toEqual([]);
    const { results } = await search.searchAll('c', [vectorSearch(at(0), { minScore: 0.7 }), vectorSearch(at(0))]);
    expect(results.map(({ hits }) => ids(hits))).toEqual([['at-0', 'at-30'], ids(all.hits)]);
  });

  test('is one of the fused score in a hybrid search', async () => {
    const { vectors, search } = await setUp();
    await vectors.upsert('c', [item('both', at(0), { text: 'apple' }), item('near', at(10))]);
    const asked = { vector: Float32Array.from(at(0)) };
    expect(ids((await search.search('c', hybrid('apple', { ...asked, minScore: 1 / 61 }))).hits)).toEqual(['both']);
    expect(ids((await search.search('c', hybrid('apple', { ...asked, minScore: 0.5 / 62 }))).hits)).toEqual([
      'both',
      'near',
    ]);
  });
});

test('a least score of the search goes for the list that a model reads, its own for what it makes of it', async () => {
  const lengths: RerankProvider = {
    modelOf: async () => 'length',
    score: async (_model, _query, texts) => texts.map((text) => text.length / 10),
  };
  const { service } = await plainService({ reranker: lengths });
  await service.collections.create(newCollection('c', { shards: 3 }));
  const texts = ['a', 'bbbb', 'cc', 'ddd'];
  await service.vectors.upsert(
    'c',
    texts.map((text, i) => item(`at-${30 * i}`, at(30 * i), { text })),
  );
  const rerank = { model: undefined, topN: 50, leastScore: undefined, budgetMs: undefined, field: 'text' };
  const source = { vector: Float32Array.from(at(0)), text: 'q' };
  const ask = async (given: Partial<NearestInput>, own: object = {}): Promise<string[]> => {
    const request = { ...nearest({ source, ...given }), rerank: { ...rerank, ...own } };
    const [one, several] = [await service.search.search('c', request), await service.search.searchAll('c', [request])];
    expect(several.results[0].hits).toEqual(one.hits);
    return ids(one.hits);
  };
  expect(await ask({})).toEqual(['at-30', 'at-90', 'at-60', 'at-0']);
  expect(await ask({ minScore: 0.4 })).toEqual(['at-30', 'at-60', 'at-0']);
  expect(await ask({}, { leastScore: 0.3 })).toEqual(['at-30', 'at-90']);
  expect(await ask({ minScore: 0.4, k: 1, offset: 1 }, { leastScore: 0.2 })).toEqual(['at-60']);
  expect(await ask({}, { topN: 2 })).toEqual(['at-30', 'at-0']);
});

describe('bulk search', () => {
  test('answers a list per query, all texts embedded in one call', async () => {
    const { vectors, search, embedding } = await setUp({ dim: 256 });
    await vectors.upsert('c', [
      textItem('cat', 'the cat sat on the mat'),
      textItem('tax', 'annual tax report'),
      item('v', new Array<number>(256).fill(1)),
    ]);
    const { results } = await search.searchAll('c', [
      vectorSearch([], { source: { text: 'tax' }, k: 1 }),
      vectorSearch(new Array<number>(256).fill(2), { k: 1 }),
      vectorSearch([], { source: { text: 'cat' }, k: 1 }),
      vectorSearch(new Array<number>(256).fill(2), { filter: { type: 'exists', path: 'nothing' } }),
    ]);
    expect(results.map(({ hits }) => ids(hits))).toEqual([['tax'], ['v'], ['cat'], []]);
    expect(embedding.calls.filter(({ kind }) => kind === 'query')).toEqual([
      { model: 'builtin', kind: 'query', texts: ['tax', 'cat'] },
    ]);
    expect((await search.searchAll('c', [])).results).toEqual([]);
  });

  test('names the query whose vector does not fit', async () => {
    const { search } = await setUp();
    await expect(search.searchAll('c', [vectorSearch([1, 2]), vectorSearch([1])])).rejects.toMatchObject({
      kind: 'dimension_mismatch',
      message: expect.stringContaining('the vector of query 1 has dimension 1'),
    });
  });
});

describe('hybrid search', () => {
  const library = async () => {
    const parts = await setUp();
    await parts.vectors.upsert('c', [
      item('near', at(1), { text: 'nothing to see' }),
      item('both', at(20), { text: 'red apple' }),
      item('word', at(170), { text: 'apple apple apple' }),
      item('far', at(180)),
    ]);
    return { ...parts, vector: Float32Array.from(at(0)) };
  };

  test('fuses the global ranks of both lists', async () => {
    const { search, vector } = await library();
    const { hits } = await search.search('c', hybrid('apple', { vector }));
    // Vector ranks: near, both, word, far. Keyword ranks: word, both.
    expect(hits.map(({ externalId, score }) => [externalId, score])).toEqual([
      ['word', 0.5 / 63 + 0.5 / 61],
      ['both', 0.5 / 62 + 0.5 / 62],
      ['near', 0.5 / 61],
      ['far', 0.5 / 64],
    ]);
    expect(ids((await search.search('c', hybrid('apple', { vector, k: 2, offset: 1 }))).hits)).toEqual([
      'both',
      'near',
    ]);
  });

  test('alpha 1 is the order of a vector search, alpha 0 that of the keywords', async () => {
    const { search, vector, shards } = await library();
    const asked = new Set<string>();
    shards.intercept = (call) => void asked.add(call);
    const vectorOrder = ids((await search.search('c', vectorSearch(at(0)))).hits);
    asked.clear();
    expect(ids((await search.search('c', hybrid('apple', { vector, alpha: 1 }))).hits)).toEqual(vectorOrder);
    expect([...asked]).toEqual(['search']);
    asked.clear();
    expect(ids((await search.search('c', hybrid('apple', { vector, alpha: 0 }))).hits)).toEqual(['word', 'both']);
    expect([...asked]).toEqual(['keywordStatistics', 'keywordSearch']);
  });

  test('explains its hits without looking up more than it would', async () => {
    const { search, vector, shards } = await library();
    const plain = await search.search('c', vectorSearch(at(0)));
    const { hits } = await search.search('c', hybrid('apple', { vector, explain: true }));
    expect(
      hits.map(({ externalId, explanation }) => [externalId, explanation?.[0].rank, explanation?.[1].rank]),
    ).toEqual([
      ['word', 3, 1],
      ['both', 2, 2],
      ['near', 1, null],
      ['far', 4, null],
    ]);
    for (const { externalId, explanation } of hits) {
      expect(explanation?.[0].score).toBe(plain.hits.find((hit) => hit.externalId === externalId)?.score);
      expect((explanation?.[1].score ?? 0) > 0).toBe(explanation?.[1].rank !== null);
    }
    const asked = new Set<string>();
    shards.intercept = (call) => void asked.add(call);
    await search.search('c', hybrid('apple', { vector, alpha: 1, explain: true }));
    expect([...asked]).toEqual(['search']);
  });

  test('a query without terms ranks by vector alone', async () => {
    const { search, vector } = await library();
    expect(ids((await search.search('c', hybrid(' – ?! ', { vector }))).hits)).toEqual(['near', 'both', 'word', 'far']);
    expect((await search.search('c', hybrid('?!', { vector, alpha: 0 }))).hits).toEqual([]);
  });

  test('embeds the query text unless a vector is given or only keywords count', async () => {
    const { search, vector, embedding } = await library();
    await search.search('c', hybrid('apple', { vector }));
    await search.search('c', hybrid('apple', { alpha: 0 }));
    expect(embedding.calls).toEqual([]);
    await search.search('c', hybrid('apple'));
    expect(embedding.calls).toEqual([{ model: 'builtin', kind: 'query', texts: ['apple'] }]);
  });

  test('filters both lists and refuses a vector of another dimension, even where it would not count', async () => {
    const { vectors, search, vector } = await library();
    await vectors.upsert('c', [item('red', at(5), { metadata: { color: 'red' }, text: 'apple' })]);
    const filter = parseFilter({ color: 'red' });
    expect(ids((await search.search('c', hybrid('apple', { vector, filter }))).hits)).toEqual(['red']);
    const wrong = search.search('c', hybrid('apple', { vector: Float32Array.of(1), alpha: 0 }));
    await expect(wrong).rejects.toMatchObject({ kind: 'dimension_mismatch' });
  });
});

describe('rerank', () => {
  test('scores the candidates there are, each once, best first', async () => {
    const { vectors, search } = await setUp({ metric: 'l2' });
    await vectors.upsert('c', [
      item('a', [3, 0]),
      item('b', [1, 0], { metadata: { b: 1 } }),
      item('c', [2, 0]),
      item('d', [0, 0]),
    ]);
    const { hits } = await search.search(
      'c',
      listed({ source: { vector: Float32Array.of(0, 0) }, candidates: ['a', 'nope', 'c', 'b', 'a'] }),
    );
    expect(hits).toEqual([
      { externalId: 'b', score: 1 / 2, metadata: '{"b":1}' },
      { externalId: 'c', score: 1 / 3, metadata: '{}' },
      { externalId: 'a', score: 1 / 4, metadata: '{}' },
    ]);
    expect(
      (await search.search('c', listed({ source: { vector: Float32Array.of(0, 0) }, candidates: [] }))).hits,
    ).toEqual([]);
  });
});

describe('recommend', () => {
  const ring = async () => {
    const parts = await setUp();
    await parts.vectors.upsert(
      'c',
      [0, 10, 20, 30, 40].map((degrees) =>
        item(`at-${degrees}`, at(degrees), { metadata: { odd: degrees % 20 === 10 } }),
      ),
    );
    return parts;
  };

  test('finds what is near the stored vector, but not itself, and pages', async () => {
    const { search } = await ring();
    expect(ids((await search.search('c', like('at-0', { k: 2, offset: 0, filter: null }))).hits)).toEqual([
      'at-10',
      'at-20',
    ]);
    expect(ids((await search.search('c', like('at-0', { k: 2, offset: 2, filter: null }))).hits)).toEqual([
      'at-30',
      'at-40',
    ]);
    expect(ids((await search.search('c', like('at-0', { k: 9, offset: 0, filter: null }))).hits)).toHaveLength(4);
  });

  test('is full where the source does not pass the filter or is not the best hit', async () => {
    const { vectors, search } = await ring();
    expect(
      ids((await search.search('c', like('at-0', { k: 2, offset: 0, filter: parseFilter({ odd: true }) }))).hits),
    ).toEqual(['at-10', 'at-30']);
    await vectors.upsert(
      'c',
      ['0', '1', '2'].map((id) => item(id, at(0))),
    );
    expect(ids((await search.search('c', like('at-0', { k: 3, offset: 0, filter: null }))).hits)).toEqual([
      '0',
      '1',
      '2',
    ]);
  });

  test('names a source that is not there', async () => {
    const { search } = await ring();
    await expect(search.search('c', like('no "such"', { k: 1, offset: 0, filter: null }))).rejects.toMatchObject({
      kind: 'not_found',
      message: 'vector "no \\"such\\"" does not exist in collection "c"',
    });
  });
});

describe('similarity', () => {
  test('is the cosine whatever the metric, 0 for a zero vector, and never past 1', async () => {
    const { vectors, search } = await setUp({ metric: 'l2' });
    await vectors.upsert('c', [
      item('x', [3, 0]),
      item('y', [0, 4]),
      item('xy', [1, 1]),
      item('-x', [-1, 0]),
      item('zero', [0, 0]),
      item('u', [0.1, 0.3]),
    ]);
    expect(await search.similarity('c', 'x', 'y')).toBe(0);
    expect(await search.similarity('c', 'x', 'xy')).toBeCloseTo(Math.SQRT1_2, 12);
    expect(await search.similarity('c', 'x', '-x')).toBe(-1);
    expect(await search.similarity('c', 'u', 'u')).toBe(1);
    expect(await search.similarity('c', 'zero', 'zero')).toBe(0);
  });

  test('names the one that is missing', async () => {
    const { vectors, search } = await setUp();
    await vectors.upsert('c', [item('x', [3, 0])]);
    await expect(search.similarity('c', 'x', 'gone')).rejects.toMatchObject({
      kind: 'not_found',
      message: 'vector "gone" does not exist in collection "c"',
    });
    await expect(search.similarity('c', 'lost', 'x')).rejects.toMatchObject({
      kind: 'not_found',
      message: 'vector "lost" does not exist in collection "c"',
    });
  });
});

describe('query', () => {
  test('searches by the embedded text and answers texts, "" where there is none', async () => {
    const { vectors, search } = await setUp({ dim: 256 });
    await vectors.upsert('c', [
      textItem('cat', 'the cat sat on the mat'),
      item('mute', new Array<number>(256).fill(-0.001), { metadata: { kind: 'x' } }),
    ]);
    const { hits } = await search.search('c', asked({ text: 'the cat', k: 5, filter: null }));
    expect(hits.map(({ externalId, text }) => [externalId, text])).toEqual([
      ['cat', 'the cat sat on the mat'],
      ['mute', ''],
    ]);
    expect(
      ids((await search.search('c', asked({ text: 'the cat', k: 5, filter: parseFilter({ kind: 'x' }) }))).hits),
    ).toEqual(['mute']);
  });
});

test('texts that are longer than the model reads are told by their places', async () => {
  const { search } = await setUp();
  const text = 'river '.repeat(8_500);
  const filter = null;
  const examples = {
    type: 'examples' as const,
    positives: [{ text: 'a' }, { text }, { text: `${text}.` }],
    negatives: [],
    strategy: 'average' as const,
    namedApart: 1,
  };
  const legs = [
    { of: { type: 'nearest' as const, to: { text } }, weight: 1, filter },
    { of: examples, weight: 1, filter },
  ];
  const placesOf = async (request: SearchRequest) =>
    (await search.search('c', request)).cut?.map(({ index, place }) => [index, place]);
  expect(await placesOf(ofLegs({ legs }))).toEqual([
    [0, 'legs[0].text'],
    [0, 'legs[1].like.positives[0].text'],
    [0, 'legs[1].like.positives[1].text'],
  ]);
  expect(await placesOf(nearest({ source: { text } }))).toEqual([[0, undefined]]);
  const { query, ...rest } = nearest({ source: { text } });
  expect(await placesOf({ ...rest, query: { ...query, source: examples } })).toEqual([
    [0, 'positives[0].text'],
    [0, 'positives[1].text'],
  ]);
});

test('vectors of texts come with the model that made them, though a first text settles it meanwhile', async () => {
  let meanwhile: () => Promise<unknown> = async () => undefined;
  const embedding = new PlainEmbedding([
    {
      name: 'm',
      dim: 2,
      embed: async (texts) => {
        const run = meanwhile;
        meanwhile = async () => undefined;
        await run();
        return texts.map(() => Float32Array.of(1, 0));
      },
    },
  ]);
  const { service } = await plainService({ embedding });
  const { collections, search, vectors } = service;
  try {
    await collections.create(newCollection('c', { dim: 2 }));
    expect((await search.embed('c', ['a'], 'query')).model).toBeNull();
    const first = { externalId: 'a', source: { text: 'a' }, metadata: undefined, text: 'a' };
    meanwhile = () => vectors.upsert('c', [first]);
    expect((await search.embed('c', ['a'], 'query')).model).toBe('m');
    meanwhile = async () => {
      await collections.delete('c');
      await collections.create(newCollection('c', { dim: 2 }));
    };
    expect((await search.embed('c', ['a'], 'passage')).model).toBe('m');
  } finally {
    service.close();
  }
});
