import { Document } from '@langchain/core/documents';
import { Embeddings } from '@langchain/core/embeddings';
import { RunnableLambda } from '@langchain/core/runnables';
import { NotFoundError, QuiverClient } from '../../clients/typescript/src/index';
import { QuiverVectorStore, type QuiverVectorStoreConfig } from '../../clients/typescript/src/langchain/index';
import { EmbeddedProcess } from '../support/processes/embedded-process';

/**
 * The LangChain vector store against a real process. LangChain JS has standard tests for chat models alone, and does
 * not publish them; these tell the stories of those that its Python edition has for vector stores.
 */

const DIM = 64;

/** Texts that share words are near each other. */
class WordEmbeddings extends Embeddings {
  constructor() {
    super({});
  }

  async embedQuery(text: string): Promise<number[]> {
    const vector = new Array<number>(DIM).fill(0.01);
    for (const word of text.toLowerCase().match(/\w+/g) ?? [])
      vector[[...word].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % DIM, 7)] += 1;
    return vector;
  }

  async embedDocuments(texts: string[]): Promise<number[][]> {
    return Promise.all(texts.map((text) => this.embedQuery(text)));
  }
}

const server = new EmbeddedProcess();
const embeddings = new WordEmbeddings();
let client: QuiverClient;
let made = 0;

beforeAll(async () => {
  await server.start();
  client = new QuiverClient({ url: server.baseUrl, apiKey: server.apiKey });
});
afterAll(() => server.destroy());

/** A configuration with a collection that nobody has used. */
const anew = (more: Partial<QuiverVectorStoreConfig> = {}): QuiverVectorStoreConfig => ({
  client,
  collection: `store-${++made}`,
  ...more,
});
const foo = (id?: string): Document => new Document({ id, pageContent: 'foo', metadata: { id: 1 } });
const bar = (id?: string): Document => new Document({ id, pageContent: 'bar', metadata: { id: 2 } });

describe('a vector store', () => {
  test('is empty at first, before anything was written', async () => {
    const store = new QuiverVectorStore(embeddings, anew());
    expect(await store.similaritySearch('foo', 1)).toEqual([]);
    expect(await store.getByIds(['1'])).toEqual([]);
    await store.delete({ ids: ['1'] });
    await store.delete({ filter: { a: 1 } });
    expect(await store.addDocuments([])).toEqual([]);
    expect(store._vectorstoreType()).toBe('quiver');
  });

  test('finds what was added, nearest first, and gives it back as it was', async () => {
    const store = new QuiverVectorStore(embeddings, anew());
    const ids = await store.addDocuments([foo(), bar()]);
    expect(new Set(ids).size).toBe(2);
    const found = await store.similaritySearchWithScore('bar', 2);
    expect(found.map(([document]) => document)).toEqual([bar(ids[1]), foo(ids[0])]);
    expect(found[0][1]).toBeCloseTo(1, 4);
    expect(found[0][1]).toBeGreaterThan(found[1][1]);
  });

  test('takes ids from the call, from the documents, or makes them', async () => {
    const store = new QuiverVectorStore(embeddings, anew());
    expect(await store.addDocuments([foo('mine'), bar('yours')], { ids: ['1', '2'] })).toEqual(['1', '2']);
    expect(await store.addDocuments([foo('mine')])).toEqual(['mine']);
    expect((await store.getByIds(['mine', 'none', '2', '1'])).map(({ id }) => id)).toEqual(['mine', '2', '1']);
    await expect(store.addDocuments([foo()], { ids: [] })).rejects.toThrow(RangeError);
    await expect(store.addVectors([], [foo()])).rejects.toThrow(RangeError);
  });

  test('replaces a document that comes again with its id, and holds it once', async () => {
    const store = new QuiverVectorStore(embeddings, anew());
    await store.addDocuments([foo('1'), bar('2')]);
    await store.addDocuments([foo('1'), bar('2')]);
    expect(await store.similaritySearch('bar', 5)).toEqual([bar('2'), foo('1')]);
    const changed = new Document({ id: '1', pageContent: 'foo, but new', metadata: { key: 'value' } });
    await store.addDocuments([changed]);
    expect(await store.getByIds(['1', '2'])).toEqual([changed, bar('2')]);
  });

  test('deletes by ids, of which some are not there, and by filter', async () => {
    const store = new QuiverVectorStore(embeddings, anew());
    await store.addDocuments([foo('1'), bar('2'), new Document({ id: '3', pageContent: 'baz', metadata: { id: 3 } })]);
    await store.delete({ ids: ['1', 'none'] });
    expect(await store.similaritySearch('foo', 5)).toHaveLength(2);
    await store.delete({ filter: { id: { $gte: 3 } } });
    expect(await store.similaritySearch('foo', 5)).toEqual([bar('2')]);
    await store.delete({ ids: ['2'] });
    expect(await store.similaritySearch('foo', 5)).toEqual([]);
  });

  test('is made of texts, of documents, and over a collection that is there', async () => {
    const config = anew({ create: { distance_metric: 'ip', description: 'for a test' } });
    const store = await QuiverVectorStore.fromTexts(['one', 'two'], [{ n: 1 }, { n: 2 }], embeddings, config);
    expect((await store.similaritySearch('two', 1))[0]).toMatchObject({ pageContent: 'two', metadata: { n: 2 } });
    expect(await store.collection.info()).toMatchObject({ distance_metric: 'ip', description: 'for a test', dim: DIM });
    const same = await QuiverVectorStore.fromTexts(['three'], { n: 3 }, embeddings, config);
    expect(await same.similaritySearch('one', 10)).toHaveLength(3);
    const existing = await QuiverVectorStore.fromExistingCollection(embeddings, {
      client: { url: server.baseUrl, apiKey: server.apiKey },
      collection: config.collection,
    });
    expect(await existing.similaritySearch('three', 1, { n: { $lt: 3 } })).toMatchObject([
      { metadata: { n: expect.any(Number) } },
    ]);
    await expect(QuiverVectorStore.fromExistingCollection(embeddings, anew())).rejects.toBeInstanceOf(NotFoundError);
  });

  test('takes more documents than one request, and finds many', async () => {
    const texts = Array.from({ length: 1500 }, (_, n) => `text ${n}`);
    const store = await QuiverVectorStore.fromTexts(texts, {}, embeddings, anew());
    expect((await store.similaritySearch('text 77', 300)).map(({ pageContent }) => pageContent)).toContain('text 77');
    expect((await store.collection.info()).vector_count).toBe(1500);
  });
});

describe('in a chain', () => {
  const TEXTS = ['red storm on jupiter', 'red storm on jupiter again', 'dust storm on mars', 'rings of saturn', ''];
  let store: QuiverVectorStore;

  beforeAll(async () => {
    store = await QuiverVectorStore.fromTexts(
      TEXTS,
      TEXTS.map((_, n) => ({ n })),
      embeddings,
      anew(),
    );
  });

  test('it retrieves for the next step', async () => {
    const chain = store
      .asRetriever({ k: 2, filter: { n: { $lte: 2 } } })
      .pipe(RunnableLambda.from((documents: Document[]) => documents.map(({ pageContent }) => pageContent).join('; ')));
    expect(await chain.invoke('red storm on jupiter')).toBe('red storm on jupiter; red storm on jupiter again');
  });

  test('it retrieves what is near and unlike the rest', async () => {
    const retriever = store.asRetriever({ searchType: 'mmr', k: 2, searchKwargs: { fetchK: 4, lambda: 0.1 } });
    const [first, second] = await retriever.invoke('red storm on jupiter');
    expect(first.pageContent).toBe('red storm on jupiter');
    expect(second.pageContent).not.toContain('jupiter');
  });

  test('it searches by meaning and words when that is asked for', async () => {
    const words = new QuiverVectorStore(embeddings, {
      client,
      collection: store.collection.name,
      hybrid: { alpha: 0 },
    });
    expect((await words.similaritySearch('saturn', 2)).map(({ pageContent }) => pageContent)).toEqual([
      'rings of saturn',
    ]);
    expect(await words.asRetriever(1).invoke('mars')).toMatchObject([{ pageContent: 'dust storm on mars' }]);
    const [[document, score]] = await store.hybridSearchWithScore('saturn', 1, { alpha: 0.3, filter: { n: 3 } });
    expect(document.pageContent).toBe('rings of saturn');
    expect(score).toBeCloseTo(1 / 61, 5);
  });
});
