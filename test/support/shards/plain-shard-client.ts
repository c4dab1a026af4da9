import { createHash } from 'node:crypto';
import { hashExternalId } from '../../../shared/contract/shard/shard-of';
import { matches } from '../../../node/engine/filter/matches';
import { isJsonObject, lookUpPath } from '../../../shared/contract/filter/metadata-path';
import { readCounts } from '../../../node/engine/filter/read-counts';
import { analyserOfField, keywordLines } from '../../../node/engine/keyword/keyword-text';
import { fieldOfPath, type KeywordField, type KeywordFields } from '../../../shared/contract/shard/keyword-fields';
import {
  type StageState,
  stageAfter,
  mustAnswer,
  OPEN_STAGE,
  refusesWrites,
} from '../../../node/engine/records/shard-stage-state';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { dateForm } from '../../../shared/contract/filter/date-form';
import type { Filter, JsonObject, Scalar, WordsCondition } from '../../../shared/contract/filter/filter';
import { comparePlaces, orderValuesOf } from '../../../shared/contract/shard/item-order';
import { keptNote, sealedId } from '../../../shared/contract/shard/step-note';
import { expiryAfter, type Expiry, isExpired } from '../../../shared/contract/writes/expiry';
import { stampAt, timeOfStamp } from '../../../shared/contract/writes/stamp-time';
import {
  EACH_VERSION,
  NO_VERSION,
  PLAIN_STEP,
  type CallOptions,
  ANY_VERSION,
  type DedupOperation,
  type ShardClient,
  type ShardId,
  type ShardSpec,
  type WriteOperation,
  type WriteOutcome,
  type WriteResult,
} from '../../../shared/contract/shard/shard-client';
import type { DedupRecord } from '../../../shared/contract/writes/dedup-record';
import { sampleKey } from '../../../shared/contract/shard/sample-key';
import {
  type AnswerOf,
  compareHits,
  type IndexProgress,
  type KeywordStatistics,
  type ListPart,
  type ReadKind,
  type RequestOf,
  type StoredItem,
} from '../../../shared/contract/shard/shard-read';
import type { ReplicaPurge } from '../../../shared/contract/shard/shard-purge';
import { variantTest, variedWords } from '../../../shared/base/text/word-variants';
import type { Boosts } from '../../../shared/contract/shard/boosts';
import { plainBoosted, plainBoostNumbers } from '../models/plain-boosts';
import { plainExpansions } from '../models/plain-expansions';
import { plainHasPhrase } from '../models/plain-phrase';
import { plainPlanScore } from '../models/plain-keyword-plan';
import { analyserFor } from '../../../shared/base/text/analyser-for';
import { systemClock, type Clock } from '../../../shared/base/time/clock';
import { scoreOf } from '../../../shared/contract/vector/metric';

export interface PlainItem {
  externalId: string;
  stamp: number;
  vector: Float32Array;
  metadata: string;
  text: string | null;
  version: number;
  expiry?: Expiry | undefined;
  dated?: boolean | undefined;
}

/** A shard as its reads see it. */
export interface PlainShard {
  spec: ShardSpec;
  items: Map<string, PlainItem>;
  lastOperation: number;
  lastStamp: number;
  stageState: StageState;
  /** The highest version that was given. */
  lastVersion: number;
  /** Whether versions tell when items changed. */
  isDated?: boolean;
  /** Changed ids by the numbers of the changes. */
  changes: { change: number; externalId: string }[];
  /** By token. The result is that of a write in one step. */
  marks: Map<string, { record: DedupRecord; result: WriteResult | null }>;
  /** How far the last purge is; default: none was begun. */
  purge?: ReplicaPurge['state'];
}

/** What each read means. */
const ANSWERS: { readonly [Kind in ReadKind]?: (shard: PlainShard, request: RequestOf<Kind>) => AnswerOf<Kind> } = {
  search: (shard, { vector, k, filter, texts, counted, boosts, part }) => {
    const scored = passing(shard, filter).map((item) => ({
      item,
      score: boosted(boosts, item, scoreOf(shard.spec.metric, vector, item.vector)),
    }));
    const hits = best(scored, k, part).map(({ item, score }) => {
      const hit = { externalId: item.externalId, score, metadata: item.metadata };
      return texts ? { ...hit, text: item.text ?? '' } : hit;
    });
    return {
      hits,
      vectorCount: shard.items.size,
      ...(counted === true && { cost: { scored: 0, rescored: scored.length } }),
    };
  },
  score: (shard, { vector, externalIds, boosts }) =>
    externalIds.flatMap((externalId) => {
      const item = shard.items.get(externalId);
      if (item === undefined) return [];
      const score = boosted(boosts, item, scoreOf(shard.spec.metric, vector, item.vector));
      return [{ externalId, score, metadata: item.metadata }];
    }),
  boostNumbers: (shard, { externalIds, boosts }) =>
    externalIds.map((externalId) => {
      const item = shard.items.get(externalId);
      return item === undefined ? null : plainBoostNumbers(boosts, JSON.parse(item.metadata) as JsonObject);
    }),
  keywordSearch: (shard, { terms, statistics, plan, fieldWeights, k, filter, boosts, part }) => {
    const mayHave = (item: PlainItem, ofUnit: Filter | undefined): boolean => passes(shard, item, ofUnit ?? null);
    const scored = passing(shard, filter)
      .map((item) => ({
        item,
        score:
          plan === undefined
            ? bm25(termsOf(shard, item, fieldWeights), terms, statistics)
            : (plainPlanScore(
                termsOf(shard, item, fieldWeights),
                terms,
                plan,
                statistics,
                (unit) => mayHave(item, unit.filter),
                (meaning) => mayHave(item, meaning.filter),
              ) ?? 0),
      }))
      .filter(({ score }) => score > 0)
      .map(({ item, score }) => ({ item, score: boosted(boosts, item, score) }));
    return best(scored, k, part).map(({ item, score }) => ({
      externalId: item.externalId,
      score,
      metadata: item.metadata,
    }));
  },
  keywordExpansions: (shard, request) =>
    plainExpansions(
      [...shard.items.values()].map((item) => termsOf(shard, item)),
      request,
    ),
  keywordStatistics: (shard, { terms, fieldWeights }) => {
    const documents = [...shard.items.values()]
      .map((item) => termsOf(shard, item, fieldWeights))
      .filter((document) => document.length > 0);
    return {
      documentCount: documents.length,
      totalLength: documents.reduce((sum, document) => sum + document.length, 0),
      documentFrequencies: terms.map((term) => documents.filter((document) => document.includes(term)).length),
    };
  },
  fetch: (shard, { externalIds, vectors, texts, ...parts }) =>
    externalIds.map((externalId) => {
      const item = shard.items.get(externalId);
      return item === undefined
        ? null
        : { ...stored(item, vectors, parts), ...(texts === false ? { text: null } : {}) };
    }),
  sample: (shard, { size, seed, filter }) => {
    const matching = passing(shard, filter).map(({ externalId }) => ({ externalId, key: sampleKey(seed, externalId) }));
    const drawn = matching.sort((a, b) => a.key - b.key).slice(0, size);
    return {
      population: matching.length,
      externalIds: drawn.map(({ externalId }) => externalId),
      keys: Float64Array.from(drawn, ({ key }) => key),
    };
  },
  scan: (shard, { after, limit, filter, vectors, texts, ...parts }) =>
    passing(shard, filter)
      .filter((item) => after === null || inInsertionOrder(item, after) > 0)
      .sort(inInsertionOrder)
      .slice(0, limit)
      .map((item) => ({ ...stored(item, vectors, parts), ...(texts === false ? { text: null } : {}) })),
  fields: (shard, { paths, dates }) => {
    const metadata = [...shard.items.values()].map((item) => JSON.parse(item.metadata) as JsonObject);
    const names = metadata.flatMap((one) => pathsOf(one, ''));
    const present = paths.map((path) => metadata.some((one) => matches({ type: 'exists', path }, one)));
    const forms = dates.map((path) =>
      [...new Set(metadata.flatMap((one) => [lookUpPath(one, path)].flat().map(dateForm)))].filter(
        (form) => form !== null,
      ),
    );
    return { items: shard.items.size, present, forms, names: present.includes(false) ? [...new Set(names)] : [] };
  },
  lastVersion: ({ lastVersion }) => lastVersion,
  count: (shard) => shard.items.size,
  matches: (shard, { filter }) => passing(shard, filter).length,
  aggregate: (shard, { questions }) =>
    questions.map(({ filter, externalIds, parts }) => {
      const items = passing(shard, filter).filter(
        ({ externalId }) => externalIds === null || externalIds.includes(externalId),
      );
      const metadata = items.map((item) => JSON.parse(item.metadata) as JsonObject);
      const hashOf = (value: Scalar): Buffer =>
        createHash('sha256')
          .update(`${typeof value} ${String(value)}`, 'utf16le')
          .digest()
          .subarray(0, 16);
      return parts.map((part) => [readCounts(part, metadata, hashOf)]);
    }),
  order: (shard, { keys, filter, after, limit }) => {
    const places = passing(shard, filter)
      .map(({ externalId, metadata }) => ({ externalId, values: orderValuesOf(metadata, keys) }))
      .filter((place) => after === null || comparePlaces(keys, place, after) > 0)
      .sort((a, b) => comparePlaces(keys, a, b));
    return { places: places.slice(0, limit), more: places.length > limit };
  },
  status: (shard) => ({
    vectorCount: shard.items.size,
    lastOperation: shard.lastOperation,
    lastStamp: shard.lastStamp,
    diskBytes: [...shard.items.values()].reduce((sum, { text }) => sum + (text?.length ?? 0), 0),
    memoryBytes: shard.items.size * shard.spec.dim * Float32Array.BYTES_PER_ELEMENT,
    segments: [{ kind: 'growing', rows: shard.items.size, deletedRows: 0, ef: 0 }],
    index: progressOf(shard.items.size),
  }),
  optimize: (shard) => progressOf(shard.items.size),
  // There is nothing to do: one that has begun is done when it is looked at again.
  purge: (shard, { start }) => {
    const before = shard.purge ?? 'none';
    shard.purge = start ? 'running' : before === 'running' ? 'done' : before;
    return [{ node: '', state: shard.purge, step: '', bytesBefore: 0, bytesAfter: 0, error: '' }];
  },
  marks: (shard, { token }) =>
    [...shard.marks.values()].map(({ record }) => record).filter((record) => record.token === token),
  transfer: ({ stageState, changes, items, lastVersion }, { after, limit }) => {
    const { stage, term, reshard, since, lastChange, forgotten } = stageState;
    const found = changes.filter(({ change }) => change > Math.max(after, forgotten)).slice(0, limit);
    const externalIds = found.map(({ externalId }) => externalId);
    return {
      stage,
      term,
      reshard,
      since,
      lastChange,
      externalIds,
      upTo: found.length === limit ? found[limit - 1].change : lastChange,
      vectorCount: items.size,
      index: progressOf(items.size),
      lastVersion,
      lastMark: 0,
    };
  },
};

function pathsOf(object: JsonObject, prefix: string): string[] {
  return Object.entries(object).flatMap(([key, value]) => [
    prefix + key,
    ...(isJsonObject(value) ? pathsOf(value, `${prefix}${key}.`) : []),
  ]);
}

/** What the read means, whatever the gate of the shard. */
export function answerPlainly<Kind extends ReadKind>(
  shard: PlainShard,
  kind: Kind,
  request: RequestOf<Kind>,
): AnswerOf<Kind> {
  const answer = ANSWERS[kind];
  if (answer === undefined) throw new QuiverError('internal', `no test has needed ${kind} of a plain shard`);
  return answer(shard, request);
}

/** Nothing is built, so nothing is left to do. */
function progressOf(rows: number): IndexProgress {
  return { state: 'ready', rows, indexedRows: 0, refinedRows: 0, secondsLeft: 0, optimizing: false };
}

/** Runs before each call of the shard; what it throws or waits for is what the caller sees. */
/** A shard that is made is one that is opened. */
export type ShardInterception = (
  call: Exclude<keyof ShardClient, 'read' | 'make'> | ReadKind,
  id: ShardId,
) => Promise<void> | void;

/**
 * ShardClient by brute force over Maps in memory: what a shard means, with nothing clever in it.
 * Every shard of every collection lives in one instance. Nothing survives the process.
 * `intercept` is for tests of failing and slow shards.
 */
export class PlainShardClient implements ShardClient {
  intercept: ShardInterception | undefined;
  private readonly shards = new Map<string, PlainShard>();
  private readonly clock: Clock;
  private readonly isDated: boolean;

  /** `dated`: versions tell when items changed, by the clock. */
  constructor(options: { clock?: Clock; dated?: boolean; intercept?: ShardInterception } = {}) {
    this.clock = options.clock ?? systemClock;
    this.isDated = options.dated === true;
    this.intercept = options.intercept;
  }

  /** The shards that exist, for tests of clean-up. */
  openShards(): ShardSpec[] {
    return [...this.shards.values()].map((shard) => shard.spec);
  }

  async make(spec: ShardSpec): Promise<void> {
    await this.intercept?.('open', spec);
    if (!this.shards.has(keyOf(spec)))
      this.shards.set(keyOf(spec), {
        spec: { ...spec },
        items: new Map(),
        lastOperation: 0,
        lastStamp: 0,
        stageState: OPEN_STAGE,
        lastVersion: 0,
        isDated: this.isDated,
        changes: [],
        marks: new Map(),
      });
  }

  async open(spec: ShardSpec): Promise<void> {
    await this.intercept?.('open', spec);
    if (!this.shards.has(keyOf(spec))) throw new QuiverError('storage_damaged', `shard ${keyOf(spec)} is gone`);
  }

  async drop(id: ShardId): Promise<void> {
    await this.intercept?.('drop', id);
    this.shards.delete(keyOf(id));
  }

  async write(id: ShardId, operations: WriteOperation[], call: CallOptions): Promise<WriteResult> {
    const shard = await this.enter('write', id, call);
    const atMs = this.clock.wallMs();
    const [first, ...rest] = operations;
    if (first?.type === 'dedup') return writeWithDedup(shard, first, rest, atMs);
    return writeTo(shard, operations, atMs);
  }

  async read<Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: CallOptions,
  ): Promise<AnswerOf<Kind>> {
    const shard = await this.enter(kind, id, call);
    mustAnswer(shard.stageState, kind, request);
    return answerPlainly(shard, kind, request);
  }

  private async enter(call: Parameters<ShardInterception>[0], id: ShardId, options: CallOptions): Promise<PlainShard> {
    await this.intercept?.(call, id);
    if (this.clock.monotonicMs() > options.deadlineMs)
      throw new QuiverError('unavailable', `shard ${keyOf(id)} did not answer in time`);
    const shard = this.shards.get(keyOf(id));
    if (shard === undefined) throw new QuiverError('not_found', `shard ${keyOf(id)} does not exist`);
    sweep(shard, this.clock.wallMs());
    return shard;
  }
}

function writeTo(shard: PlainShard, operations: WriteOperation[], atMs: number): WriteResult {
  shard.lastOperation += 1;
  const datedAt = shard.isDated === true ? stampAt(atMs) : 0;
  const firstVersion = Math.max(
    shard.lastVersion + 1,
    operations.find((operation) => operation.type === 'upsert')?.stamp ?? 0,
    datedAt,
  );
  const { lastVersion } = shard;
  const before = new Map(shard.items);
  const present: number[] = [];
  const outcomes = operations.map((operation, i) => {
    // One of this write may have expired before it came.
    if ('externalId' in operation) sweepOne(shard, operation.externalId, atMs);
    return apply(shard, operation, firstVersion + i, present, atMs);
  });
  if (
    !operations.some(
      (operation, i) => outcomes[i] === 'conflict' && !('alone' in operation && operation.alone === true),
    )
  )
    return { outcomes, firstVersion, present };
  shard.items = before;
  shard.lastVersion = lastVersion;
  return {
    outcomes: outcomes.map((outcome) => (outcome === 'conflict' || outcome === 'refused' ? outcome : 'withheld')),
    firstVersion,
    present,
  };
}

/** A write that is done once. */
function writeWithDedup(
  shard: PlainShard,
  mark: DedupOperation,
  operations: WriteOperation[],
  atMs: number,
): WriteResult {
  const all = (outcome: WriteOutcome, first = outcome): WriteResult => ({
    outcomes: [first, ...operations.map(() => outcome)],
    firstVersion: 0,
    present: [],
  });
  if (refusesWrites(shard.stageState)) return all('refused');
  const found = shard.marks.get(mark.token);
  const known = found === undefined || found.record.expiresAtMs <= mark.nowMs ? undefined : found;
  const step = known?.record.progress?.step ?? 0;
  if (known !== undefined && known.record.digest !== mark.digest) return all('withheld');
  if (known !== undefined && known.record.verdict !== null) return all('withheld', 'absent');
  if (mark.step !== PLAIN_STEP && mark.step !== step) return all('outdated');
  if (mark.step === PLAIN_STEP && known !== undefined && known.result !== null) return known.result;
  // Of a write that was taken before, a verdict comes too late.
  if (mark.step === PLAIN_STEP && known !== undefined && operations.length === 0) return all('updated');
  const done = writeTo(shard, operations, atMs);
  const outcomes: WriteOutcome[] = ['inserted', ...done.outcomes];
  const { progress } = known?.record ?? { progress: null };
  const count = (...of: WriteOutcome[]): number => done.outcomes.filter((outcome) => of.includes(outcome)).length;
  const excess = operations.find((_, i) => done.outcomes[i] === 'excess') as { externalId: string } | undefined;
  let conflicts = 0;
  const versions = done.outcomes.map((outcome, i) =>
    outcome === 'conflict'
      ? done.present[conflicts++]
      : outcome === 'inserted' || outcome === 'updated'
        ? done.firstVersion + i
        : 0,
  );
  const record: DedupRecord = {
    token: mark.token,
    digest: mark.digest,
    expiresAtMs: mark.nowMs + mark.keptMs,
    sequence: 0,
    entries:
      mark.step === PLAIN_STEP
        ? operations.flatMap((operation, i) =>
            'externalId' in operation
              ? [{ hash: hashExternalId(operation.externalId), outcome: done.outcomes[i], version: versions[i] }]
              : [],
          )
        : [],
    verdict: mark.step === PLAIN_STEP && mark.note !== '' ? mark.note : null,
    progress:
      mark.step === PLAIN_STEP
        ? null
        : {
            step: step + 1,
            done: (progress?.done ?? 0) + count('deleted', 'updated'),
            excess: (progress?.excess ?? 0) + count('excess'),
            first: progress?.first ?? (excess === undefined ? null : sealedId(excess.externalId, { ...mark, step })),
            note: keptNote(mark.note),
          },
    earlier: [],
  };
  const again: WriteResult = {
    outcomes: ['updated', ...done.outcomes],
    firstVersion: EACH_VERSION,
    present: [0, ...versions],
  };
  shard.marks.set(mark.token, { record, result: mark.step === PLAIN_STEP ? again : null });
  // The item of operation i has the version `firstVersion + i`, and the mark is the first operation.
  return { outcomes, firstVersion: done.firstVersion - 1, present: done.present };
}

function keyOf(id: ShardId): string {
  return `${id.collectionUid}/${id.shard}`;
}

/** Items that have expired are not there. */
function sweep(shard: PlainShard, atMs: number): void {
  for (const { externalId } of shard.items.values()) sweepOne(shard, externalId, atMs);
}

function sweepOne(shard: PlainShard, externalId: string, atMs: number): void {
  if (isExpired(shard.items.get(externalId)?.expiry ?? 0, atMs)) shard.items.delete(externalId);
}

/** `present` gets the versions of what conflicts. */
function apply(
  shard: PlainShard,
  operation: WriteOperation,
  version: number,
  present: number[],
  atMs: number,
): WriteOutcome {
  if (operation.type === 'stage') {
    const after = stageAfter(shard.stageState, operation);
    shard.stageState = after ?? shard.stageState;
    if (after !== null) shard.lastVersion = Math.max(shard.lastVersion, operation.versionFloor ?? 0);
    return after === null ? 'outdated' : 'updated';
  }
  if (operation.type === 'import') {
    const { externalId, item } = operation;
    if (shard.stageState.stage !== 'filling' || operation.term !== shard.stageState.term) return 'outdated';
    shard.items.delete(externalId);
    if (item !== null)
      shard.items.set(externalId, {
        ...item,
        version: item.version ?? 0,
        externalId,
        vector: Float32Array.from(item.vector),
      });
    shard.lastVersion = Math.max(shard.lastVersion, item?.version ?? 0);
    shard.lastStamp = Math.max(shard.lastStamp, item?.stamp ?? 0);
    return item === null ? 'deleted' : 'updated';
  }
  if (operation.type === 'dedup') throw new Error('no test has needed marks of a plain shard');
  if (operation.type === 'expire') throw new Error('no test has needed a plain shard whose items expire');
  if (refusesWrites(shard.stageState)) return 'refused';
  if (shard.stageState.since > 0) {
    shard.stageState = { ...shard.stageState, lastChange: shard.stageState.lastChange + 1 };
    shard.changes.push({ change: shard.stageState.lastChange, externalId: operation.externalId });
  }
  const previous = shard.items.get(operation.externalId);
  const { expected } = operation;
  const now = previous === undefined ? NO_VERSION : versionOf(previous);
  if (expected !== undefined && (expected === ANY_VERSION ? previous === undefined : expected !== now)) {
    present.push(now);
    return 'conflict';
  }
  if (
    operation.type === 'delete' &&
    operation.filter !== undefined &&
    (previous === undefined || !passes(shard, previous, operation.filter))
  )
    return 'absent';
  if (operation.type === 'patch') {
    const { metadata, filter, vector, text } = operation;
    if (previous === undefined || (filter !== undefined && !passes(shard, previous, filter))) return 'absent';
    const json =
      metadata === undefined
        ? previous.metadata
        : metadata.replaces
          ? metadata.json
          : JSON.stringify(mergePatched(JSON.parse(previous.metadata), JSON.parse(metadata.json)));
    if (metadata !== undefined && json.length > metadata.bytesMax) return 'excess';
    shard.items.set(operation.externalId, {
      ...previous,
      metadata: json,
      vector: vector === undefined ? previous.vector : Float32Array.from(vector),
      text: text ?? previous.text,
      version,
      dated: shard.isDated === true && stampAt(atMs) > 0,
      expiry: expiryAfter(previous.expiry ?? 0, operation, atMs),
    });
    shard.lastVersion = version;
    return 'updated';
  }
  if (operation.type === 'delete') return shard.items.delete(operation.externalId) ? 'deleted' : 'absent';
  if (operation.vector.length !== shard.spec.dim)
    throw new Error(`a vector of ${operation.vector.length} elements in a shard of dimension ${shard.spec.dim}`);
  shard.items.set(operation.externalId, {
    externalId: operation.externalId,
    stamp: previous?.stamp ?? operation.stamp,
    vector: Float32Array.from(operation.vector),
    metadata: operation.metadata ?? previous?.metadata ?? '{}',
    text: operation.text ?? previous?.text ?? null,
    version,
    dated: shard.isDated === true && stampAt(atMs) > 0,
    expiry: expiryAfter(previous?.expiry ?? 0, operation, atMs),
  });
  shard.lastVersion = version;
  shard.lastStamp = Math.max(shard.lastStamp, operation.stamp);
  return previous === undefined ? 'inserted' : 'updated';
}

/** As RFC 7396 writes it. */
function mergePatched(target: any, patch: any): any {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const merged = typeof target !== 'object' || target === null || Array.isArray(target) ? {} : { ...target };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = mergePatched(merged[name], value);
  }
  return merged;
}

function passing(shard: PlainShard, filter: Filter | null): PlainItem[] {
  return [...shard.items.values()].filter((item) => passes(shard, item, filter));
}

function passes(shard: PlainShard, item: PlainItem, filter: Filter | null): boolean {
  if (filter === null) return true;
  const hasWords = (condition: WordsCondition, metadata: JsonObject): boolean => {
    const { query, match, near = 0, paths, stands } = condition;
    const { keywordFields } = shard.spec;
    const analyser = analyserOfField(condition, analyserFor(shard.spec.language ?? null));
    const own = paths?.filter((path) => fieldOfPath(keywordFields, path)?.analyser === condition.analyser);
    const strings = own?.map((path) => lookUpPath(metadata, path) ?? null);
    if (match === 'phrase') {
      const lines = strings === undefined ? linesBy(shard, item, condition) : keywordLines(null, { strings });
      return lines.some((line) => plainHasPhrase(analyser.terms(query), near, analyser.terms(line)));
    }
    const lines = strings === undefined ? linesBy(shard, item, condition) : keywordLines(null, { strings });
    const terms = analyser.terms(lines.join('\n'));
    const isIn = (term: string): boolean => terms.includes(term);
    if (stands !== undefined) {
      const sought = variedWords(analyser, query, stands);
      return sought !== null && sought.others.every(isIn) && terms.some(variantTest(sought));
    }
    const wanted = analyser.termsToFind(query);
    return match === 'any' ? wanted.some(isIn) : wanted.length > 0 && wanted.every(isIn);
  };
  const updatedMs = item.dated === true ? timeOfStamp(item.version) : undefined;
  return matches(filter, JSON.parse(item.metadata) as JsonObject, { expiry: 0, ...item, updatedMs, hasWords });
}

function boosted(boosts: Boosts | undefined, { metadata }: PlainItem, score: number): number {
  if (boosts === undefined) return score;
  return plainBoosted(boosts, score, plainBoostNumbers(boosts, JSON.parse(metadata) as JsonObject));
}

function best(
  scored: { item: PlainItem; score: number }[],
  k: number,
  part: ListPart = { versionMax: Infinity, after: null, passed: 0 },
): { item: PlainItem; score: number }[] {
  const { after, versionMax } = part;
  return scored
    .filter(({ item }) => versionOf(item) <= versionMax)
    .sort((a, b) => b.score - a.score || inCodeUnits(a.item.externalId, b.item.externalId))
    .filter(({ item, score }) => after === null || compareHits({ externalId: item.externalId, score }, after) > 0)
    .slice(0, k);
}

function versionOf({ version, stamp }: PlainItem): number {
  return version === 0 ? stamp : version;
}

function stored(
  item: PlainItem,
  vectors: boolean,
  { versions = false, expiries = false, dates = false }: { versions?: boolean; expiries?: boolean; dates?: boolean },
): StoredItem {
  const view: StoredItem = { externalId: item.externalId, stamp: item.stamp, metadata: item.metadata, text: item.text };
  if (expiries && item.expiry) view.expiry = item.expiry;
  if (versions) view.version = versionOf(item);
  if (dates && item.dated === true) view.dated = true;
  return vectors ? { ...view, vector: Float32Array.from(item.vector) } : view;
}

function inInsertionOrder(a: { stamp: number; externalId: string }, b: { stamp: number; externalId: string }): number {
  return a.stamp - b.stamp || inCodeUnits(a.externalId, b.externalId);
}

function inCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function termsOf(shard: PlainShard, item: PlainItem, fieldWeights?: readonly number[]): string[] {
  const own = analyserFor(shard.spec.language ?? null);
  return linesOf(shard, item, fieldWeights).flatMap(({ line, by }) => analyserOfField(by, own).terms(line));
}

/** The lines that a condition looks in. */
function linesBy(shard: PlainShard, item: PlainItem, { analyser }: WordsCondition): string[] {
  return linesOf(shard, item).flatMap(({ line, by }) => (by.analyser === analyser ? [line] : []));
}

interface PlainLine {
  line: string;
  by: Pick<KeywordField, 'analyser'>;
}

/** The texts of an item for keyword search, each as often as it weighs. */
function linesOf({ spec }: PlainShard, { text, metadata }: PlainItem, fieldWeights?: readonly number[]): PlainLine[] {
  const object = JSON.parse(metadata) as JsonObject;
  const { keywordFields } = spec;
  if (keywordFields === undefined) return keywordLines(text, object).map((line) => ({ line, by: {} }));
  const weighed = keywordFields.map((field, i) => ({ ...field, weight: fieldWeights?.[i] ?? field.weight }));
  return repeatedLines(weighed, text, object);
}

function repeatedLines(fields: KeywordFields, text: string | null, metadata: JsonObject): PlainLine[] {
  return fields.flatMap((by) => {
    const { path, weight } = by;
    const own =
      path === 'text' ? keywordLines(text, {}) : keywordLines(null, { of: lookUpPath(metadata, path) ?? null });
    return Array.from({ length: weight }, () => own.map((line) => ({ line, by }))).flat();
  });
}

/** Okapi BM25 as the textbooks write it, k1 = 1.2, b = 0.75, with an idf that can't fall below 0. */
function bm25(document: string[], terms: string[], statistics: KeywordStatistics): number {
  const averageLength = statistics.totalLength / statistics.documentCount;
  return terms.reduce((sum, term, i) => {
    const frequency = document.filter((candidate) => candidate === term).length;
    const containing = statistics.documentFrequencies[i];
    const idf = Math.log(1 + (statistics.documentCount - containing + 0.5) / (containing + 0.5));
    return sum + (idf * frequency * 2.2) / (frequency + 1.2 * (0.25 + (0.75 * document.length) / averageLength));
  }, 0);
}
