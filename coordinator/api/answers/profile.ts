import type { CallProfile, ProfiledStep, ProfiledCall } from '../../../shared/contract/shard/call-profile';

/** When a request came, was handed to its use case, and was done; monotonic. */
export interface RequestTimes {
  startedMs: number;
  handedMs: number;
  doneMs: number;
  /** Of it, before it was handed over: to read and check its body. */
  parseMs: number;
}

/** The parts of a request's time, in the order of its way. Together they are `total_ms`. */
const PARTS = ['wait', 'parse', 'route', 'embed', 'queue', 'shards', 'merge', 'rerank', 'other'] as const;
type Part = (typeof PARTS)[number];

/**
 * Where the time of a request went, as `profile` in its answer has it. Milliseconds, rounded to tenths of microseconds.
 */
export interface RequestProfile extends Record<`${Part}_ms`, number> {
  request_id: string;
  trace_id: string | null;
  total_ms: number;
  shards: ShardProfile[];
}

/**
 * One call of a shard. What is not known is null: of a node of an earlier version, or of a call that has none of it.
 */
export interface ShardProfile {
  read: string;
  query: number | null;
  shard: number;
  node: string | null;
  role: 'primary' | 'follower' | null;
  place: 'inline' | 'shard' | 'node';
  attempts: number;
  start_ms: number;
  total_ms: number;
  wait_ms: number | null;
  run_ms: number | null;
  rpc_ms: number | null;
  results: number | null;
  plan: string | null;
  candidates: number | null;
  scored: number | null;
  rescored: number | null;
  expanded: number | null;
  filter_ms: number | null;
  queue_ms: number | null;
  vectors_ms: number | null;
  hits_ms: number | null;
  texts_ms: number | null;
  error: string | null;
}

export function profileOf(
  callProfile: CallProfile,
  times: RequestTimes,
  { requestId, traceId }: { requestId: string; traceId: string | null },
): RequestProfile {
  const parts = partsOf(callProfile, times);
  return {
    request_id: requestId,
    trace_id: traceId,
    total_ms: rounded(times.doneMs - times.startedMs),
    ...(Object.fromEntries(PARTS.map((part) => [`${part}_ms`, rounded(parts[part])])) as Record<`${Part}_ms`, number>),
    shards: callProfile.calls.map((call) => shardProfile(call, times)),
  };
}

/** The same as readers see it: which nodes there are, and which of them leads a shard, is the operators' business. */
export function withoutNodes(profile: RequestProfile): RequestProfile {
  return { ...profile, shards: profile.shards.map((call) => ({ ...call, node: null, role: null })) };
}

/** The same with the slowest calls of shards alone, for the log. */
export function shortProfile(profile: RequestProfile, callsMax: number): RequestProfile {
  const shards = [...profile.shards].sort((a, b) => b.total_ms - a.total_ms).slice(0, callsMax);
  return { ...profile, shards };
}

/**
 * Divides the time among the parts. Calls of shards overlap, and so do the queries of a bulk: each moment counts once,
 * for the calls that are under way, otherwise for the step that it is in.
 */
function partsOf(
  { steps, calls }: CallProfile,
  { startedMs, handedMs, doneMs, parseMs }: RequestTimes,
): Record<Part, number> {
  const parts = Object.fromEntries(PARTS.map((part) => [part, 0])) as Record<Part, number>;
  parts.parse = parseMs;
  parts.wait = Math.max(0, handedMs - startedMs - parseMs);
  const asked: ProfiledStep[] = calls.map((call) => ({
    name: 'shards',
    startMs: call.startMs,
    endMs: call.endMs || doneMs,
  }));
  const firstMs = Math.min(...asked.map(({ startMs }) => startMs));
  const spans = [...asked, ...steps];
  const bounds = [...new Set([handedMs, doneMs, ...spans.flatMap(({ startMs, endMs }) => [startMs, endMs])])]
    .filter((ms) => ms >= handedMs && ms <= doneMs)
    .sort((a, b) => a - b);
  for (let i = 1; i < bounds.length; i += 1) {
    const [fromMs, toMs] = [bounds[i - 1], bounds[i]];
    const names = new Set(
      spans.filter(({ startMs, endMs }) => startMs <= fromMs && endMs >= toMs).map(({ name }) => name),
    );
    parts[partOf(names, fromMs < firstMs)] += toMs - fromMs;
  }
  return parts;
}

/** `isBefore`: no shard was asked yet. In the step of the shards, it waits until then, and joins answers later. */
function partOf(names: ReadonlySet<string>, isBefore: boolean): Part {
  for (const part of ['shards', 'embed', 'route', 'merge', 'rerank'] as const) if (names.has(part)) return part;
  if (!names.has('node')) return 'other';
  return isBefore ? 'queue' : 'merge';
}

function shardProfile(call: ProfiledCall, { startedMs, doneMs }: RequestTimes): ShardProfile {
  const { asked, served, cost, attempts } = call;
  const detail = cost?.detail;
  const totalMs = (call.endMs || doneMs) - call.startMs;
  const known = (value: number | undefined): number | null => (value === undefined ? null : rounded(value));
  return {
    read: call.kind,
    query: call.query,
    shard: call.shard,
    node: asked === null ? null : (asked.node ?? asked.address),
    role: asked?.role ?? null,
    place: attempts > 0 ? 'node' : call.place,
    attempts: Math.max(1, attempts),
    start_ms: rounded(call.startMs - startedMs),
    total_ms: rounded(totalMs),
    wait_ms: known(served?.waitMs),
    run_ms: known(served?.runMs),
    rpc_ms: attempts === 0 || served === null ? null : rounded(Math.max(0, totalMs - served.waitMs - served.runMs)),
    results: call.results,
    plan: detail?.plan ?? null,
    candidates: detail?.allowed ?? null,
    scored: cost?.scored ?? null,
    rescored: cost?.rescored ?? null,
    expanded: detail?.expanded ?? null,
    filter_ms: known(detail?.filterMs),
    queue_ms: known(detail?.queueMs),
    vectors_ms: known(detail?.vectorsMs),
    hits_ms: known(detail?.hitsMs),
    texts_ms: known(detail?.textsMs),
    error: call.error,
  };
}

/** To tenths of microseconds. */
export function rounded(ms: number): number {
  return Math.round(ms * 10_000) / 10_000;
}
