import type { Envelope } from '../../support/processes/embedded-process';
import { seededRandom } from '../../support/values/random';

/** One call of the API with the admin key; answers the envelope, with the code 0 when there was no answer. */
export type Call = (method: string, path: string, body?: unknown) => Promise<Envelope>;

interface Item {
  external_id: string;
  vector: number[];
  metadata: { n: number; group: string };
  text: string;
}

const DIM = 8;
const GROUPS = 5;
const NEAREST = 10;
const WRITTEN = ['inserted', 'updated'];
/** Of one call: far longer than any of them may take, and shorter than a hung one. */
export const CALL_DEADLINE_MS = 40_000;

/** What a reader saw: all of it right, or calls that were refused, or something that is not so. */
export interface Seen {
  /** Messages of errors, each once. */
  refused: string[];
  wrong: string[];
}

/**
 * What was acknowledged of a collection, in memory, and what every read must answer by it. A write whose answer did not
 * come, or was an error that leaves it open, may be there or not.
 */
export class CollectionModel {
  private readonly items = new Map<string, Item>();
  /** By id: what may be there instead. null: nothing. */
  private readonly open = new Map<string, (Item | null)[]>();
  private readonly random: () => number;
  private next = 0;

  constructor(
    readonly name: string,
    seed: number,
  ) {
    this.random = seededRandom(seed);
  }

  get size(): number {
    return this.items.size;
  }

  /** The same state, under the same name or another one, which then goes on alone. */
  copy(seed: number, name = this.name): CollectionModel {
    const copy = new CollectionModel(name, seed);
    for (const [id, item] of this.items) copy.items.set(id, item);
    for (const [id, others] of this.open) copy.open.set(id, [...others]);
    copy.next = this.next;
    return copy;
  }

  async make(call: Call, options: object = {}): Promise<void> {
    const { error } = await call('POST', '/v1/collections', {
      name: this.name,
      dim: DIM,
      distance_metric: 'l2',
      ...options,
    });
    if (error !== null) throw new Error(`${this.name} is not made: ${error.message}`);
  }

  /** Writes new items; answers the message of the refusal, null if they are acknowledged. */
  async load(call: Call, count: number): Promise<string | null> {
    const items = Array.from({ length: count }, () => this.made(`i${this.next++}`));
    return this.put(call, items);
  }

  /** Writes some of the items again; answers as `load`. */
  async change(call: Call, count: number): Promise<string | null> {
    const ids = [...this.items.keys()];
    const chosen = new Set(Array.from({ length: count }, () => ids[Math.floor(this.random() * ids.length)]));
    return this.put(
      call,
      [...chosen].map((id) => this.made(id)),
    );
  }

  /** What every kind of read says now. */
  async read(call: Call): Promise<Seen> {
    const seen: Seen = { refused: [], wrong: [] };
    const path = `/v1/collections/${this.name}`;
    const ask = async (
      what: string,
      method: string,
      at: string,
      body: unknown,
      check: (data: any) => string | null,
    ): Promise<void> => {
      const answer = await call(method, path + at, body);
      if (answer.status === 'error') {
        const { code, message } = answer.error ?? { code: 0, message: '' };
        if (code !== 500) seen.wrong.push(`${what}: ${code} ${message}`);
        else if (!seen.refused.includes(message)) seen.refused.push(message);
      } else {
        const wrong = check(answer.data);
        if (wrong !== null) seen.wrong.push(`${what}: ${wrong}`);
      }
    };
    let now = this.items;
    await ask('scroll', 'POST', '/scroll', { limit: 1000, include_vectors: true }, (data) => {
      const found = new Map<string, Item>(data.vectors.map((item: Item) => [item.external_id, item]));
      const wrong = this.differenceTo(found);
      // What was open is decided by what a reader has seen.
      if (wrong === null) now = this.settle(found);
      return wrong;
    });
    if (now.size === 0) return seen;
    const one = [...now.keys()][Math.floor(this.random() * now.size)];
    await ask('get', 'GET', `/vectors/${one}`, undefined, (data) =>
      now.has(one) ? difference(now.get(one) as Item, data) : null,
    );
    const vector = vectorOf(this.random);
    const nearest = (items: Iterable<Item>): string =>
      [...items]
        .map((item) => ({
          id: item.external_id,
          distance: item.vector.reduce((sum, x, i) => sum + (x - vector[i]) ** 2, 0),
        }))
        .sort((a, b) => a.distance - b.distance)
        .slice(0, NEAREST)
        .map(({ id }) => id)
        .join();
    const hits = (data: any): string => data.results.map(({ external_id: id }: Item) => id).join();
    const same = (expected: string, found: string): string | null =>
      expected === found ? null : `${found || 'nothing'} for ${expected || 'nothing'}`;
    await ask('exact search', 'POST', '/search', { vector, k: NEAREST, exact: true }, (data) =>
      same(nearest(now.values()), hits(data)),
    );
    await ask('search', 'POST', '/search', { vector, k: NEAREST }, (data) => same(nearest(now.values()), hits(data)));
    const group = `g${Math.floor(this.random() * GROUPS)}`;
    const ofGroup = [...now.values()].filter(({ metadata }) => metadata.group === group);
    await ask('filtered search', 'POST', '/search', { vector, k: NEAREST, filters: { group } }, (data) =>
      same(nearest(ofGroup), hits(data)),
    );
    const { text } = now.get(one) as Item;
    await ask(
      'hybrid search',
      'POST',
      '/hybrid_search',
      { vector, query_text: text.split(' ')[0], k: now.size, alpha: 0 },
      (data) => {
        const found = data.results.find(({ external_id: id }: Item) => id === one);
        return found === undefined ? `the one item with ${text} is missing` : null;
      },
    );
    await ask('count', 'GET', '', undefined, (data) => {
      if (data.vector_count === -1) {
        const reasons: string[] = data.unavailable_shards.map(({ reason }: { reason: string }) => reason);
        seen.refused.push(...reasons.filter((reason) => !seen.refused.includes(reason)));
        return reasons.length > 0 ? null : 'unknown, and nothing says why';
      }
      return same(String(now.size), String(data.vector_count));
    });
    return seen;
  }

  private made(id: string): Item {
    const n = Math.floor(this.random() * 1e9);
    return {
      external_id: id,
      vector: vectorOf(this.random),
      metadata: { n, group: `g${n % GROUPS}` },
      text: `only${n.toString(36)} of all`,
    };
  }

  private async put(call: Call, items: Item[]): Promise<string | null> {
    const answer = await call('POST', `/v1/collections/${this.name}/bulk_upsert`, { items });
    if (
      answer.status === 'success' &&
      answer.data.results.every(({ status }: { status: string }) => WRITTEN.includes(status))
    ) {
      for (const item of items) {
        this.items.set(item.external_id, item);
        this.open.delete(item.external_id);
      }
      return null;
    }
    for (const item of items) {
      const id = item.external_id;
      this.open.set(id, [...(this.open.get(id) ?? [this.items.get(id) ?? null]), item]);
    }
    return answer.error?.message ?? JSON.stringify(answer.data);
  }

  private differenceTo(found: ReadonlyMap<string, Item>): string | null {
    for (const [id, item] of found) {
      if (!this.items.has(id) && !this.open.has(id)) return `${id} was never written`;
      if (this.possible(id).every((one) => one === null || difference(one, item) !== null))
        return `${id} is not what was written: ${JSON.stringify(item)}`;
    }
    const missing = [...this.items.keys()].filter((id) => !found.has(id) && !this.possible(id).includes(null));
    return missing.length > 0
      ? `${missing.length} of ${this.items.size} items are missing: ${missing.slice(0, 5).join()}`
      : null;
  }

  private possible(id: string): readonly (Item | null)[] {
    return this.open.get(id) ?? [this.items.get(id) ?? null];
  }

  private settle(found: ReadonlyMap<string, Item>): Map<string, Item> {
    for (const [id, possible] of this.open) {
      const there = found.get(id);
      const right =
        there === undefined ? undefined : possible.find((one) => one !== null && difference(one, there) === null);
      if (right) this.items.set(id, right);
      else this.items.delete(id);
    }
    this.open.clear();
    return this.items;
  }
}

function vectorOf(random: () => number): number[] {
  return Array.from({ length: DIM }, () => Math.fround(random() * 10));
}

function difference(expected: Item, found: Item): string | null {
  const same =
    expected.text === found.text &&
    expected.metadata.n === found.metadata.n &&
    expected.metadata.group === found.metadata.group &&
    expected.vector.every((x, i) => Math.fround(found.vector?.[i]) === x);
  return same ? null : `${found.external_id} is ${JSON.stringify(found)}`;
}
