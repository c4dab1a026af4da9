import { type ApiAnswer, ApiClient, dataOf } from '../support/targets/api-client';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { RawConnection } from '../support/http/raw-connection';

/** Items at their largest: answers of more bytes than are read at once, and clients that take none of them. */

const ITEMS = 120;
const NAMES = Array.from({ length: ITEMS }, (_, i) => `item-${i}`);
const MIB = 1024 * 1024;
/** Below what one address may have. */
const CONNECTIONS_MAX = 400;

interface Hit {
  external_id: string;
  score: number;
  metadata: { i: number; long: string };
  text?: string;
}

let embedded: EmbeddedProcess;
let api: ApiClient;

const metadataOf = (i: number): Hit['metadata'] => ({ i, long: String.fromCharCode(97 + (i % 26)).repeat(60_000) });
const textOf = (i: number): string => `word${i % 7} ${'t'.repeat(200_000)}`;
const path = (verb: string): string => `/v1/collections/large/${verb}`;

beforeAll(async () => {
  // As little memory as there may be, so that few answers fill it.
  embedded = new EmbeddedProcess({
    environment: { HTTP_THREADS: '2', MAX_ANSWER_MEMORY_BYTES: String(32 * MIB), STALL_TIMEOUT_MS: '600000' },
  });
  await embedded.start();
  api = new ApiClient({ baseUrl: embedded.baseUrl, adminKey: embedded.apiKey });
  dataOf(await api.post('/v1/collections', { name: 'large', dim: 2, distance_metric: 'l2', shards: 3 }));
  for (let from = 0; from < ITEMS; from += 20) {
    const items = NAMES.slice(from, from + 20).map((external_id, j) => ({
      external_id,
      vector: [from + j, 0],
      metadata: metadataOf(from + j),
      text: textOf(from + j),
    }));
    dataOf(await api.post(path('bulk_upsert'), { items }));
  }
});

afterAll(() => embedded?.destroy());

function expectWhole(hits: Hit[], ids: string[], texts = false): void {
  expect(hits.map(({ external_id }) => external_id)).toEqual(ids);
  for (const { external_id, metadata, text } of hits) {
    const i = NAMES.indexOf(external_id);
    expect(metadata).toEqual(metadataOf(i));
    if (texts) expect(text).toBe(textOf(i));
  }
}

describe('answers of many bytes are whole', () => {
  test('a scroll: pages end after 16 MiB, and the next goes on from there', async () => {
    const seen: Hit[] = [];
    const pages: number[] = [];
    for (let cursor: string | null = null; ;) {
      const page: { vectors: Hit[]; next_cursor: string | null } = dataOf(
        await api.post(path('scroll'), { limit: 1000, cursor }),
      );
      seen.push(...page.vectors);
      pages.push(page.vectors.length);
      cursor = page.next_cursor;
      if (cursor === null) break;
    }
    expectWhole(seen, NAMES, true);
    expect(pages.length).toBeGreaterThan(1);
    expect(Math.max(...pages)).toBeLessThan(70);
  });

  test('a scroll with a filter and few items has exactly these, and no next page', async () => {
    const { vectors, next_cursor }: { vectors: Hit[]; next_cursor: string | null } = dataOf(
      await api.post(path('scroll'), { limit: 10, filters: { i: { $lt: 10 } } }),
    );
    expectWhole(vectors, NAMES.slice(0, 10), true);
    expect(next_cursor).toBeNull();
  });

  test('a fetch, in the order asked, missing ones left out', async () => {
    const ids = NAMES.slice(0, 99).toReversed();
    const { vectors }: { vectors: Hit[] } = dataOf(
      await api.post(path('vectors/fetch'), { ids: ['nobody', ...ids], include_vectors: true }),
    );
    expectWhole(vectors, ids, true);
  });

  test('an export', async () => {
    const { vectors, count }: { vectors: Hit[]; count: number } = dataOf(await api.get(path('export')));
    expectWhole(vectors, NAMES);
    expect(count).toBe(ITEMS);
  });

  const vector = [0, 0];
  test.each<[string, () => Promise<Hit[]>, string[]]>([
    ['a search', async () => dataOf(await api.post(path('search'), { vector, k: ITEMS })).results, NAMES],
    [
      'a page of a search',
      async () => dataOf(await api.post(path('search'), { vector, k: 50, offset: 60 })).results,
      NAMES.slice(60, 110),
    ],
    [
      'a search with a filter',
      async () => dataOf(await api.post(path('search'), { vector, k: ITEMS, filters: { i: { $gte: 20 } } })).results,
      NAMES.slice(20),
    ],
    [
      'a search with a least score',
      async () => dataOf(await api.post(path('search'), { vector, k: ITEMS, min_score: 1 / 91.5 })).results,
      NAMES.slice(0, 91),
    ],
    [
      'the searches of a bulk',
      async () =>
        dataOf(
          await api.post(path('bulk_search'), {
            queries: [
              { vector, k: ITEMS },
              { vector, k: 90 },
            ],
          }),
        ).results.flat(),
      [...NAMES, ...NAMES.slice(0, 90)],
    ],
    [
      'a hybrid search',
      async () =>
        dataOf(await api.post(path('hybrid_search'), { vector, query_text: 'nothing', alpha: 1, k: ITEMS })).results,
      NAMES,
    ],
    [
      'candidates',
      async () => dataOf(await api.post(path('rerank'), { vector, candidates: NAMES.toReversed() })).results,
      NAMES,
    ],
    [
      'recommendations',
      async () => dataOf(await api.post(`/v1/collections/large/recommend/item-0`, { k: ITEMS })).results,
      NAMES.slice(1),
    ],
  ])('%s', async (_name, ask, ids) => {
    expectWhole(await ask(), ids);
  });

  test('a query, with texts', async () => {
    dataOf(await api.post('/v1/collections', { name: 'asked', dim: 384, shards: 2 }));
    for (let from = 0; from < 60; from += 10) {
      const items = Array.from({ length: 10 }, (_, j) => ({
        external_id: `item-${from + j}`,
        text: textOf(from + j),
        metadata: metadataOf(from + j),
      }));
      dataOf(await api.post('/v1/collections/asked/bulk_upsert', { items }));
    }
    const { results }: { results: Hit[] } = dataOf(
      await api.post('/v1/query', { collection_name: 'asked', query: 'word3', top_k: 50 }),
    );
    expect(new Set(results.map(({ external_id }) => external_id)).size).toBe(50);
    for (const { external_id, metadata, text } of results)
      expect([metadata, text]).toEqual([
        metadataOf(Number(external_id.slice(5))),
        textOf(Number(external_id.slice(5))),
      ]);
    dataOf(await api.delete('/v1/collections/asked'));
  });

  test('a sample', async () => {
    const { items }: { items: Hit[] } = dataOf(await api.post(path('sample'), { size: 100, seed: 3 }));
    expect(items).toHaveLength(100);
    for (const { external_id, metadata } of items) expect(metadata).toEqual(metadataOf(NAMES.indexOf(external_id)));
  });
});

describe('clients that take nothing', () => {
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${embedded.opsPort}/metrics`)).text();
    return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1]);
  };

  test.each([
    ['export', 'GET', path('export'), null],
    ['scroll', 'POST', path('scroll'), { limit: 1000 }],
    ['search', 'POST', path('search'), { vector: [0, 0], k: ITEMS }],
    ['fetch', 'POST', path('vectors/fetch'), { ids: NAMES.slice(0, 100) }],
  ])(
    'of %s fill their share of the memory, and are refused beyond it, while others are served',
    async (name, method, target, body) => {
      const { key } = dataOf(await api.post('/v1/admin/keys', { name: `reader-${name}`, role: 'readonly' }));
      const text = body === null ? '' : JSON.stringify(body);
      const request = `${method} ${target} HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
      const refusedBefore = await metric('quiver_http_requests_shed_total');
      const connections: RawConnection[] = [];
      const ask = async (count: number): Promise<void> => {
        for (let i = 0; i < count; i++) {
          const connection = await RawConnection.open({ baseUrl: embedded.baseUrl });
          connection.socket.pause();
          await connection.send(request);
          connections.push(connection);
        }
      };
      await ask(60);
      // The first page of an export fits into what the system keeps for a connection: all have begun, and wait for the
      // next.
      if (name === 'export')
        await eventually('they hold much', async () => (await metric('quiver_http_answer_bytes')) > 8 * MIB);
      // Others may all have begun as well, where the machine is slow; then it is who comes later.
      else
        await eventually('some are refused', async () => {
          if ((await metric('quiver_http_requests_shed_total')) > refusedBefore) return true;
          if (connections.length < CONNECTIONS_MAX) await ask(2);
          return false;
        });
      // Somebody else's largest answers come all the same. What reads under way might find counts until it is known: on
      // a slow machine for longer than a request waits, and then it is to be asked again.
      let served: ApiAnswer | undefined;
      await eventually('somebody else is served', async () => {
        served = await api.post(path('vectors/fetch'), { ids: NAMES.slice(0, 100) });
        return served.json?.error?.code !== 429;
      });
      expectWhole(dataOf(served!).vectors, NAMES.slice(0, 100), true);
      expect(await metric('quiver_http_answer_bytes')).toBeLessThan(48 * MIB);
      const answers =
        name === 'export'
          ? []
          : connections.map((connection) => {
              connection.socket.resume();
              return connection
                .until(/"code":429,"message":"server busy: answers that wait for their readers/)
                .catch(() => connection.closed());
            });
      if (name !== 'export') expect(await Promise.any(answers)).toMatch(/retry-after: 1\r\n/);
      for (const { socket } of connections) socket.destroy();
      await Promise.all(answers);
      await eventually('all is given back', async () => (await metric('quiver_http_answer_bytes')) === 0);
      dataOf(await api.post(path('search'), { vector: [0, 0], k: 10 }, { key }));
    },
  );
});
