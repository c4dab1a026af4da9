/** One call of the API with the admin key, which answers the envelope. */
export type Call = (method: string, path: string, body?: unknown) => Promise<any>;

const COLLECTION = 'canary';
const DIM = 8;
const ITEMS = 60;

function vectorOf(i: number): number[] {
  return Array.from({ length: DIM }, (_, axis) => Math.fround(Math.sin(1 + i * 7.3 + axis * 1.7)));
}

function textOf(i: number): string {
  return `bird number${i} sings in tree${i % 7}`;
}

/** Data that nobody but an honest client touches: whatever else happens, every answer about them stays right. */
export class Canary {
  /** `options` go into the collection. */
  static async store(call: Call, options: object = {}): Promise<void> {
    succeeded(await call('POST', '/v1/collections', { name: COLLECTION, dim: DIM, ...options }));
    const items = Array.from({ length: ITEMS }, (_, i) => ({
      external_id: `bird-${i}`,
      vector: vectorOf(i),
      text: textOf(i),
      metadata: { n: i, tree: i % 7 },
    }));
    succeeded(await call('POST', `/v1/collections/${COLLECTION}/bulk_upsert`, { items }));
  }

  /** What an honest client sees wrong. `refused`: error answers, with their messages; nothing of them is wrong data. */
  static async look(call: Call): Promise<{ wrong: string[]; refused: string[] }> {
    const wrong: string[] = [];
    const refused: string[] = [];
    const ask = async (what: string, verb: string, body: object, isRight: (data: any) => boolean): Promise<void> => {
      const envelope = await call('POST', `/v1/collections/${COLLECTION}/${verb}`, body);
      if (envelope.status !== 'success') refused.push(`${what}: ${envelope.error?.code} ${envelope.error?.message}`);
      else if (!isRight(envelope.data))
        wrong.push(`canary: ${what} answered ${JSON.stringify(envelope.data).slice(0, 300)}`);
    };
    for (const i of [0, 17, ITEMS - 1]) {
      await ask(
        'search',
        'search',
        { vector: vectorOf(i), k: 1 },
        ({ results, total_count: total }) =>
          total === ITEMS && results[0]?.external_id === `bird-${i}` && results[0].metadata.n === i,
      );
      await ask(
        'hybrid search',
        'hybrid_search',
        { query_text: `number${i}`, alpha: 0, k: 5 },
        ({ results }) => results.length === 1 && results[0].external_id === `bird-${i}`,
      );
    }
    const ids = Array.from({ length: ITEMS }, (_, i) => `bird-${i}`);
    await ask(
      'fetch',
      'vectors/fetch',
      { ids },
      ({ vectors }) =>
        vectors.length === ITEMS &&
        vectors.every(
          (found: any, i: number) =>
            found.text === textOf(i) &&
            found.metadata.tree === i % 7 &&
            found.vector.every((value: number, axis: number) => Math.abs(value - vectorOf(i)[axis]) < 1e-5),
        ),
    );
    await ask(
      'filtered search',
      'search',
      { vector: vectorOf(0), k: ITEMS, exact: true, filters: { tree: 3, n: { $gt: 20 } } },
      ({ results }) => results.length === ids.filter((_, i) => i % 7 === 3 && i > 20).length,
    );
    await ask('scroll', 'scroll', { limit: 1000, include_vectors: false }, ({ vectors }) => vectors.length === ITEMS);
    return { wrong, refused };
  }
}

function succeeded(envelope: any): void {
  if (envelope.status !== 'success')
    throw new Error(`the canary could not be stored: ${JSON.stringify(envelope.error)}`);
}
