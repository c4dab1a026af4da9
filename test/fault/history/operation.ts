/** What a client of the service did: the verbs of the workload, each one request of the API. */
export type OperationKind =
  | 'upsert'
  | 'bulk_upsert'
  | 'delete'
  | 'delete_batch'
  | 'get'
  | 'fetch'
  | 'search'
  | 'hybrid'
  | 'count'
  | 'export'
  | 'scroll'
  | 'reshard'
  | 'cancel_reshard';

/**
 * ok: answered with success. fail: refused in a way that says nothing was applied. unknown: no answer, or one that does
 * not tell; the operation may take effect at any time after its call, once, or never.
 */
export type Outcome = 'ok' | 'fail' | 'unknown';

/** What an operation was asked to do beyond its ids; each kind uses its own. */
export interface OperationArguments {
  /** Of an upsert: the value written to each id, in the order of `ids`. No value is written twice in a history. */
  values?: string[];
  /** Of an upsert of one id: the value that has to be there, null for none; otherwise it is refused. */
  expects?: string | null;
  /** Of a search: the text that the query vector (`vectorOf`) is made of. */
  query?: string;
  k?: number;
  /** Of a search: compared with every vector, so that what is missing can be told. */
  exact?: boolean;
  /** Of a search or scroll: only values of this group (`groupOf`). */
  group?: number;
  /** Of an export or scroll: the most items it may answer. */
  limit?: number;
  /** Of a reshard: the number of shards that is asked for. */
  shards?: number;
}

/** An item as an answer showed it. */
export interface SeenItem {
  id: string;
  /** The value named by its metadata; null when it names none. */
  value: string | null;
  /** Its vector, or its text, is not the one of its value. Absent: both are, or none was shown. */
  torn?: true;
}

export interface SeenHit extends SeenItem {
  score: number;
}

/** What a successful answer said; each kind has its own fields. */
export interface OperationResult {
  /** Of an upsert: for each of `ids`, whether it was new. */
  statuses?: ('inserted' | 'updated')[];
  /** Of a delete: the ids that were there. */
  deleted?: string[];
  /** Of a read by ids, an export or a scroll. */
  items?: SeenItem[];
  hits?: SeenHit[];
  /** Vectors in the collection: what a count, a search or an export says of it. */
  count?: number;
  /** Of a count: how many shards the collection has. Of a reshard: how many it had. */
  shards?: number;
}

/**
 * One request and its answer. `inv` and `ret` are nanoseconds of one monotonic clock since the history began; `ret` of
 * an unknown one is when the client gave up, which bounds nothing.
 */
export interface Operation {
  index: number;
  /** One client has at most one operation under way; after an unknown one it goes on under a new name. */
  client: string;
  kind: OperationKind;
  /** Ids written or asked for, each once. Empty for reads of the whole collection. */
  ids: string[];
  args: OperationArguments;
  inv: number;
  ret: number;
  outcome: Outcome;
  /** The envelope's error code and message; null without an error answer. */
  code: number | null;
  message: string | null;
  result: OperationResult;
  /** Base address of the coordinator asked. */
  coordinator: string;
  /** Belongs to the last exhaustive read, after all faults and writes. */
  final: boolean;
}

const NANOS_PER_MS = 1e6;
/** Ids and values shown of one operation. */
const SHOWN_MAX = 6;

export function isWrite(kind: OperationKind): boolean {
  return kind === 'upsert' || kind === 'bulk_upsert' || kind === 'delete' || kind === 'delete_batch';
}

/** Whether it may change something, though nobody learns that it did. */
export function mayChange(kind: OperationKind): boolean {
  return isWrite(kind) || kind === 'reshard' || kind === 'cancel_reshard';
}

/** An operation as a phrase of a violation, with only what it did to `id` when that is given. */
export function describeOperation(operation: Operation, id?: string): string {
  const { index, client, kind, ids, args, outcome, coordinator } = operation;
  const shown = id === undefined || !ids.includes(id) ? ids.slice(0, SHOWN_MAX) : [id];
  const what = shown.map((each) => {
    const value = args.values?.[ids.indexOf(each)];
    return value === undefined ? each : `${each}=${value}`;
  });
  const rest = ids.length > shown.length ? ` and ${ids.length - shown.length} more` : '';
  const end = outcome === 'unknown' ? 'no known end' : milliseconds(operation.ret);
  const port = coordinator.slice(coordinator.lastIndexOf(':'));
  return `#${index} ${client} ${kind}${what.length > 0 ? ` ${what.join(', ')}` : ''}${rest} [${milliseconds(operation.inv)} to ${end}, ${outcome}, by ${port}]`;
}

function milliseconds(nanos: number): string {
  return `${(nanos / NANOS_PER_MS).toFixed(3)} ms`;
}
