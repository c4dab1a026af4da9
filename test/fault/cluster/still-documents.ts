import type { ClusterProcesses } from '../../support/processes/cluster-processes';
import { COLLECTION } from './under-load';

const PATH = `/v1/collections/${COLLECTION}`;
const CHUNKS_OF_DOCUMENT = 50;
const CHUNKS_AT_ONCE = 500;
/**
 * Between two rounds of questions, and as long as the last one took: on a busy machine, too, they don't take the
 * processors from what is tested.
 */
const PAUSE_MIN_MS = 100;
/** Documents that are changed once all are there. */
const CHANGED = 7;
/** Times before and after which others are written are so far from these: versions run ahead of the clock by less. */
const APART_MS = 20;

/**
 * Documents in the collection of a story that nobody writes once they are there. So what is counted, grouped, ordered,
 * filtered and expanded of them stays the same, whatever happens to their shards.
 */
export class StillDocuments {
  private told: unknown[] = [];
  /** When all were there, and some not yet changed again. */
  private since = '';

  private constructor(
    private readonly cluster: ClusterProcesses,
    private readonly chunks: number,
  ) {}

  static async put(cluster: ClusterProcesses, chunks: number): Promise<StillDocuments> {
    for (let from = 0; from < chunks; from += CHUNKS_AT_ONCE) {
      const items = Array.from({ length: Math.min(CHUNKS_AT_ONCE, chunks - from) }, (_, i) => chunkOf(from + i));
      await cluster.data('POST', `${PATH}/bulk_upsert`, { items });
    }
    const documents = new StillDocuments(cluster, chunks);
    await documents.changeSome();
    documents.told = await documents.ask();
    expect(documents.told).toMatchObject([
      { count: chunks },
      { count: CHANGED },
      { stats: [{ min: 0, max: chunks - 1, sum: (chunks * (chunks - 1)) / 2, distinct: chunks }] },
      { total_matches: chunks, groups: [{ hits: [{}, {}] }, { hits: [{}, {}] }, { hits: [{}, {}] }] },
      { within: 'hits', results: [{ metadata: { n: 4 } }, {}, {}, {}, { metadata: { n: 0 } }] },
      { results: [{ metadata: {}, context: { from_chunk: 0, to_chunk: 1 } }] },
      { results: [{ metadata: { n: 2 } }, { metadata: { n: 7 } }] },
      ...[0, 1].map((page) => ({ vectors: [{ metadata: { n: chunks - 1 - 3 * page } }, {}, {}] })),
    ]);
    return documents;
  }

  private async changeSome(): Promise<void> {
    const apart = (): Promise<void> => new Promise((wake) => setTimeout(wake, APART_MS));
    await apart();
    this.since = new Date().toISOString();
    await apart();
    const filters = { document_id: { $prefix: 'still-' }, n: { $lt: CHANGED } };
    await this.cluster.data('POST', `${PATH}/update_by_filter`, { filters, set: { again: true } });
  }

  /** `coordinator`: who is asked. */
  async check(coordinator = 0): Promise<void> {
    expect(await this.ask(coordinator)).toEqual(this.told);
  }

  /**
   * Asks again and again until `until` is over, once at least. `mayFail`: while a process is gone, there may be an
   * error instead.
   */
  async checkWhile(until: Promise<unknown>, { coordinator = 0, mayFail = false } = {}): Promise<void> {
    let isOver = false;
    const ended = until.finally(() => (isOver = true));
    ended.catch(() => undefined);
    let tookMs = 0;
    do {
      await new Promise((wake) => setTimeout(wake, Math.max(PAUSE_MIN_MS, tookMs)));
      const startMs = performance.now();
      const told = await this.ask(coordinator).catch((error: Error) => {
        if (!mayFail) throw error;
        return null;
      });
      tookMs = performance.now() - startMs;
      if (told === null) continue;
      expect(told).toEqual(this.told);
    } while (!isOver);
    await ended;
  }

  private async ask(coordinator = 0): Promise<unknown[]> {
    const post = (endpoint: string, body: object): Promise<any> =>
      this.cluster.data('POST', `${PATH}/${endpoint}`, body, coordinator);
    const filters = { document_id: { $prefix: 'still-' } };
    const search = { vector: [1, 2, 3, 0], exact: true, filters };
    const order_by = [{ field: 'n', direction: 'desc' }];
    const [first, ...answers] = await Promise.all([
      post('scroll', { filters, order_by, limit: 3 }),
      post('count', { filters }),
      post('count', { filters: { ...filters, $updated: { $gt: this.since } } }),
      post('aggregate', {
        filters,
        facets: [{ field: 'third' }, { field: 'n', limit: 3, order: 'value' }],
        ranges: [{ field: 'n', edges: [0, 50, this.chunks] }],
        stats: [{ field: 'n', ops: ['min', 'max', 'sum', 'distinct', 'p99'] }],
        by: { field: 'third', stats: [{ field: 'n', ops: ['max'] }] },
      }),
      post('search', { ...search, k: 3, group_by: 'third', group_size: 2, total: true }),
      post('search', { ...search, k: 5, order_by }),
      post('search', { ...search, k: 1, fields: [], expand: { before: 1, after: 1 } }),
      post('search', {
        ...search,
        filters: {
          tags: { $all: [2], $size: 2 },
          at: { $geo_radius: { lat: 50, lon: 10, metres: 100_000 } },
          $id: ['still-2', 'still-7', 'still-12'],
          $text: { query: 'text 2 nowhere' },
          $not: { $text: { query: 'text 12', match: 'all' } },
        },
      }),
    ]);
    const second = await post('scroll', { filters, order_by, limit: 3, cursor: first.next_cursor });
    return [...answers, ...[first, second].map(({ vectors }) => ({ vectors }))].map(ofDocuments);
  }
}

function chunkOf(n: number): object {
  const chunk = n % CHUNKS_OF_DOCUMENT;
  return {
    external_id: `still-${n}`,
    vector: [1, 2, 3, n],
    text: `text ${n}`,
    metadata: {
      n,
      third: n % 3,
      tags: [n % 2 === 0 ? 'even' : 'odd', n % 5],
      at: { lat: 50, lon: n < 10 ? 10 : 12 },
      document_id: `still-${(n - chunk) / CHUNKS_OF_DOCUMENT}`,
      chunk_index: chunk,
    },
  };
}

/** Without times, and without the number of all items, which the clients of the story write. */
function ofDocuments(answer: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(answer).filter(([name]) => !name.endsWith('_ms') && name !== 'total_count'));
}
