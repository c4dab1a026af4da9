import { ApiClient, type ApiAnswer, type ApiRequest } from '../support/targets/api-client';
import { outcomeOf } from './history/classify-answer';
import type { History, OperationEnd } from './history/history';
import type {
  Operation,
  OperationArguments,
  OperationKind,
  OperationResult,
  SeenHit,
  SeenItem,
} from './history/operation';
import { isVectorOf, metadataOf, textOf, vectorOf } from './history/written-value';

/** Longer than a coordinator takes to give up on its own: its word is worth more than a client's impatience. */
const CALL_TIMEOUT_MS = 12_000;
/** Small, so that a scroll takes many pages and outlives faults between them. */
const SCROLL_PAGE = 17;
/** A page of a scroll is asked for again, anywhere, this often: a cursor outlives a coordinator. */
const PAGE_TRIES = 3;
const FETCH_IDS_MAX = 100;
/** A write under an Idempotency-Key is sent again, anywhere, until it is known what became of it, so often. */
const KEYED_TRIES = 4;
const KEYED_PAUSE_MS = 250;

interface RecordedCall extends Pick<ApiRequest, 'method' | 'path' | 'body'> {
  kind: OperationKind;
  ids?: string[];
  args?: OperationArguments;
  /** What a success said; null: that it can't be told. */
  resultOf: (data: any) => OperationResult | null;
  /** A 404 of the vector is an answer too. */
  absent?: OperationResult;
  /** The write is done once, however often it is sent. */
  key?: string;
}

/** What a write is told beyond the item. */
export interface UpsertOptions {
  /** The value and version that have to be there; null: none may be. */
  expects?: { value: string; version: number } | null;
  expiresAt?: string;
  key?: string;
}

/** One client of a collection whose every operation is recorded; an operation is one HTTP request, a scroll several. */
export class RecordingClient {
  private readonly history: History;
  private readonly adminKey: string;
  private readonly collection: string;
  /** The coordinator of the next request. */
  private readonly choose: () => string;
  private readonly isFinal: boolean;
  private client: string;
  private lives = 0;

  constructor(
    private readonly name: string,
    options: { history: History; adminKey: string; collection: string; choose: () => string; final?: boolean },
  ) {
    this.history = options.history;
    this.adminKey = options.adminKey;
    this.collection = options.collection;
    this.choose = options.choose;
    this.isFinal = options.final ?? false;
    this.client = name;
  }

  upsert(id: string, value: string, { expects, expiresAt, key }: UpsertOptions = {}): Promise<Operation> {
    const condition =
      expects === undefined ? {} : expects === null ? { only_if: 'absent' } : { if_version: expects.version };
    return this.record({
      kind: 'upsert',
      ids: [id],
      args: { values: [value], ...(expects === undefined ? {} : { expects: expects?.value ?? null }) },
      method: 'POST',
      path: '/upsert',
      body: {
        ...(itemOf(id, value) as object),
        ...condition,
        ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
      },
      ...(key === undefined ? {} : { key }),
      resultOf: (data) => ({ statuses: [data.status] }),
    });
  }

  /** Reads an item and writes it only if it is as it was read: two operations, of which the last is answered. */
  async upsertIfUnchanged(id: string, value: string): Promise<Operation> {
    let version = 0;
    const read = await this.get(id, (found) => (version = found));
    if (read.outcome !== 'ok') return read;
    const seen = read.result.items?.[0]?.value ?? null;
    return this.upsert(id, value, { expects: seen === null ? null : { value: seen, version } });
  }

  bulkUpsert(ids: string[], values: string[]): Promise<Operation> {
    return this.record({
      kind: 'bulk_upsert',
      ids,
      args: { values },
      method: 'POST',
      path: '/bulk_upsert',
      body: { items: ids.map((id, i) => itemOf(id, values[i])) },
      resultOf: (data) => ({ statuses: data.results.map(({ status }: { status: string }) => status) }),
    });
  }

  delete(id: string): Promise<Operation> {
    return this.record({
      kind: 'delete',
      ids: [id],
      method: 'DELETE',
      path: `/delete/${encodeURIComponent(id)}`,
      resultOf: () => ({ deleted: [id] }),
      absent: { deleted: [] },
    });
  }

  deleteBatch(ids: string[]): Promise<Operation> {
    return this.record({
      kind: 'delete_batch',
      ids,
      method: 'POST',
      path: '/delete_batch',
      body: { external_ids: ids },
      resultOf: (data) => ({ deleted: data.deleted_ids }),
    });
  }

  /** `onVersion` is told that of the item, if it is there. */
  get(id: string, onVersion: (version: number) => void = () => undefined): Promise<Operation> {
    const resultOf = (data: any): OperationResult => {
      onVersion(data.version);
      return { items: [itemSeen(data)] };
    };
    return this.record({
      kind: 'get',
      ids: [id],
      method: 'GET',
      path: `/vectors/${encodeURIComponent(id)}`,
      resultOf,
      absent: { items: [] },
    });
  }

  /** At most 100 ids. */
  fetch(ids: string[]): Promise<Operation> {
    return this.record({
      kind: 'fetch',
      ids,
      method: 'POST',
      path: '/vectors/fetch',
      body: { ids },
      resultOf: (data) => ({ items: data.vectors.map(itemSeen) }),
    });
  }

  /** All of the ids, as many operations as it takes. */
  async fetchAll(ids: string[]): Promise<Operation[]> {
    const operations: Operation[] = [];
    for (let from = 0; from < ids.length; from += FETCH_IDS_MAX)
      operations.push(await this.fetch(ids.slice(from, from + FETCH_IDS_MAX)));
    return operations;
  }

  search(args: OperationArguments & { query: string; k: number }): Promise<Operation> {
    const { query, k, exact = false, group } = args;
    return this.record({
      kind: 'search',
      args,
      method: 'POST',
      path: '/search',
      body: { vector: vectorOf(query), k, exact, ...(group === undefined ? {} : { filters: { group } }) },
      resultOf: (data) => ({ hits: data.results.map(hitSeen), count: data.total_count }),
    });
  }

  hybrid(words: string, args: OperationArguments & { query: string; k: number }): Promise<Operation> {
    const { query, k, group } = args;
    return this.record({
      kind: 'hybrid',
      args,
      method: 'POST',
      path: '/hybrid_search',
      body: {
        query_text: words,
        vector: vectorOf(query),
        k,
        ...(group === undefined ? {} : { filters: { group: { $in: [group] } } }),
      },
      resultOf: (data) => ({ hits: data.results.map(hitSeen) }),
    });
  }

  count(): Promise<Operation> {
    return this.record({
      kind: 'count',
      method: 'GET',
      path: '',
      resultOf: (data) => (data.vector_count < 0 ? null : { count: data.vector_count, shards: data.shards }),
    });
  }

  reshard(shards: number): Promise<Operation> {
    return this.record({
      kind: 'reshard',
      args: { shards },
      method: 'POST',
      path: '/reshard',
      body: { shards },
      resultOf: (data) => ({ shards: data.from }),
    });
  }

  /** Refused when there is nothing to give up, or it is too late. */
  cancelReshard(): Promise<Operation> {
    return this.record({ kind: 'cancel_reshard', method: 'DELETE', path: '/reshard', resultOf: () => ({}) });
  }

  export(): Promise<Operation> {
    return this.record({
      kind: 'export',
      method: 'GET',
      path: '/export?limit=100000',
      resultOf: (data) => ({ items: data.vectors.map(itemSeen) }),
    });
  }

  /** Page by page to the end. */
  async scroll(group?: number): Promise<Operation> {
    const coordinator = this.choose();
    const end = this.history.begin({
      client: this.client,
      kind: 'scroll',
      args: group === undefined ? {} : { group },
      coordinator,
      final: this.isFinal,
    });
    const items: SeenItem[] = [];
    let cursor: string | null = null;
    do {
      let answer: ApiAnswer | null = null;
      for (let left = PAGE_TRIES; left > 0 && answer?.json?.status !== 'success'; left -= 1) {
        const body: Record<string, unknown> = {
          cursor,
          limit: SCROLL_PAGE,
          ...(group === undefined ? {} : { filters: { group } }),
        };
        answer = await this.ask(left === PAGE_TRIES ? coordinator : this.choose(), {
          method: 'POST',
          path: '/scroll',
          body,
        }).catch(() => null);
      }
      if (answer?.json?.status !== 'success')
        return end({
          outcome: 'fail',
          code: answer?.json?.error?.code,
          message: answer?.json?.error?.message ?? 'no answer',
        });
      items.push(...answer.json.data.vectors.map(itemSeen));
      cursor = answer.json.data.next_cursor;
    } while (cursor !== null);
    return end({ outcome: 'ok', result: { items } });
  }

  private async record(call: RecordedCall): Promise<Operation> {
    const { kind, ids = [], args = {}, key } = call;
    const coordinator = this.choose();
    const end = this.history.begin({ client: this.client, kind, ids, args, coordinator, final: this.isFinal });
    let last = await this.attempt(call, coordinator);
    for (let left = key === undefined ? 0 : KEYED_TRIES - 1; left > 0 && last.outcome === 'unknown'; left -= 1) {
      await new Promise((wake) => setTimeout(wake, KEYED_PAUSE_MS));
      const next = await this.attempt(call, this.choose());
      // What is refused now says nothing of what was sent before.
      last = next.outcome === 'ok' ? next : { ...next, outcome: 'unknown' };
    }
    if (last.outcome === 'unknown') this.client = `${this.name}.${(this.lives += 1)}`;
    return end(last);
  }

  private async attempt(call: RecordedCall, coordinator: string): Promise<OperationEnd> {
    const { kind, ids = [], resultOf, absent } = call;
    let answer: ApiAnswer;
    try {
      answer = await this.ask(coordinator, call);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      // Nothing was sent.
      return { outcome: code === 'ECONNREFUSED' ? 'fail' : outcomeOf(kind, ids.length, null), message };
    }
    const { code = null, message = null } = answer.json?.error ?? {};
    if (code === 404 && absent !== undefined && message?.startsWith('vector ') === true)
      return { outcome: 'ok', code, message, result: absent };
    const outcome = outcomeOf(kind, ids.length, answer);
    const result = outcome === 'ok' ? resultOf(answer.json?.data) : {};
    return result === null ? { outcome: 'fail', message: 'it can not be told' } : { outcome, code, message, result };
  }

  private ask(
    baseUrl: string,
    { method, path, body, key }: Pick<RecordedCall, 'method' | 'path' | 'body' | 'key'>,
  ): Promise<ApiAnswer> {
    const client = new ApiClient({ baseUrl, adminKey: this.adminKey });
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
    return client.call({
      method,
      path: `/v1/collections/${this.collection}${path}`,
      body,
      headers,
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    });
  }
}

function itemOf(id: string, value: string): unknown {
  return { external_id: id, vector: vectorOf(value), metadata: metadataOf(value), text: textOf(value) };
}

function valueOf(metadata: any): string | null {
  const value: unknown = metadata?.v;
  return typeof value === 'string' ? value : null;
}

function itemSeen(view: any): SeenItem {
  const value = valueOf(view.metadata);
  const isTorn =
    value !== null && (!isVectorOf(value, view.vector) || (view.text !== undefined && view.text !== textOf(value)));
  return { id: view.external_id, value, ...(isTorn ? { torn: true as const } : {}) };
}

function hitSeen(hit: any): SeenHit {
  return { id: hit.external_id, value: valueOf(hit.metadata), score: hit.score };
}
