import { QuiverError } from '../../base/errors/quiver-error';
import type { Filter } from '../../contract/filter/filter';
import { filterFromText, filterToText } from '../../contract/filter/filter-text';
import { type Boosts, boostNumbersFromText, boostsFromText, boostsToText } from '../../contract/shard/boosts';
import { answersFromText, answersToText, questionsFromText, questionsToText } from '../../contract/shard/aggregate';
import {
  factsFromText,
  factsToText,
  fieldFactsRequestFromText,
  fieldFactsRequestToText,
} from '../../contract/shard/field-facts';
import {
  orderAnswerFromText,
  orderAnswerToText,
  orderRequestFromText,
  orderRequestToText,
} from '../../contract/shard/item-order';
import {
  expansionRequestFromText,
  expansionRequestToText,
  expansionsFromText,
  expansionsToText,
} from '../../contract/shard/keyword-expansion';
import { keywordPlanFromText, keywordPlanToText } from '../../contract/shard/keyword-plan';
import { dedupListFromBytes, dedupListToBytes } from '../../contract/writes/dedup-record';
import { SHARD_STAGES } from '../../contract/shard/shard-stage';
import { purgesFromText, purgesToText } from '../../contract/shard/shard-purge';
import {
  type AnswerOf,
  type Hit,
  type IndexProgress,
  type ReadKind,
  type RequestOf,
  SEARCH_PLANS,
  type SearchCost,
  type SearchEffort,
  type StoredItem,
} from '../../contract/shard/shard-read';
import type {
  Answer,
  Answer__Output,
  IndexProgress__Output,
  IndexProgress as ProtoIndexProgress,
  ReadRequest,
  ReadRequest__Output,
  SearchCost as ProtoSearchCost,
  SearchCost__Output,
} from '../generated/quiver/v1/reads';
import { float32FromBytes } from '../../contract/vector/float32-bytes';
import { hitsFromBytes, hitsToBytes, packedFromSent } from './hit-codec';
import { itemsFromBytes, itemsToBytes } from './item-codec';
import { partBytes, partFromProto, partToProto } from './list-part-codec';
import { drawnFromBytes, drawnToBytes } from './sample-codec';
import { stringsBytes, stringsFromBytes, stringsToBytes } from './string-list-codec';

/** How one kind of read is sent (proto/quiver/v1/reads.proto). Errors: internal when a message is malformed. */
export interface ReadCodec<Kind extends ReadKind> {
  /** Makes the field of ReadRequest that has the kind's name. */
  requestToProto(request: RequestOf<Kind>): NonNullable<ReadRequest[Kind]>;
  /** Vectors are copied. */
  requestFromProto(proto: NonNullable<ReadRequest__Output[Kind]>): RequestOf<Kind>;
  /** Upper bound of the bytes of the parts that vary in length. */
  requestBytes(request: RequestOf<Kind>): number;
  /** Makes one of the results of Answer. */
  answerToProto(answer: AnswerOf<Kind>): SizedAnswer;
  /**
   * undefined when the message holds a result of another kind. `packed`: of a search, whether its hits may stay bytes.
   */
  answerFromProto(proto: Answer__Output, packed?: boolean): AnswerOf<Kind> | undefined;
}

/** A message, with an upper bound of the bytes of its parts that vary in length. */
export interface SizedAnswer {
  message: AnswerMessage;
  bytes: number;
}

/** An answer whose lists are Buffers: always so on the side that makes it. */
export interface AnswerMessage extends Answer {
  hits?: Buffer;
  items?: Buffer;
}

/** The greatest length of a number in a list. */
const VARINT_BYTES = 10;
/** A segment's numbers with their tags. */
const SEGMENT_BYTES = 48;
/** The numbers of a search's cost with their tags. */
const COST_BYTES = 128;
/** The numbers and the state of an index's progress with their tags. */
const PROGRESS_BYTES = 80;

/** The codecs by kind. */
export const READ_CODECS: { readonly [Kind in ReadKind]: ReadCodec<Kind> } = {
  search: {
    requestToProto: ({ vector, k, filter, effort, texts, counted, bytesMax, boosts, part, versions }) => ({
      vector: vectorToProto(vector),
      k,
      filter: filterToProto(filter),
      ef: effort.type === 'ef' ? effort.ef : 0,
      exact: effort.type === 'exact',
      texts,
      counted,
      ...(bytesMax !== undefined && { bytesMax }),
      ...(boosts !== undefined && { boosts: boostsToText(boosts) }),
      ...(part !== undefined && { part: partToProto(part) }),
      ...(versions && { versions }),
    }),
    requestFromProto: ({ vector, k, filter, ef, exact, texts, counted, bytesMax, boosts, part, versions }) => ({
      vector: vectorFromProto(vector),
      k,
      filter: filterFromProto(filter),
      effort: effortFromProto(ef, exact),
      texts,
      ...(counted && { counted }),
      ...(bytesMax !== undefined && { bytesMax }),
      ...boostsFromProto(boosts),
      ...(part && { part: partFromProto(part) }),
      ...(versions && { versions }),
    }),
    requestBytes: ({ vector, filter, boosts, part }) =>
      vector.byteLength + filterBytes(filter) + boostsBytes(boosts) + partBytes(part),
    answerToProto: ({ hits, wireHits, vectorCount, cost, boostDepth }) => {
      const plain =
        wireHits === undefined
          ? hitsToProto(hits, vectorCount)
          : { message: { hits: wireHits, vectorCount }, bytes: wireHits.length };
      const answer =
        boostDepth === undefined
          ? plain
          : { message: { ...plain.message, boostDepth }, bytes: plain.bytes + VARINT_BYTES };
      return cost === undefined
        ? answer
        : { message: { ...answer.message, cost: costToProto(cost) }, bytes: answer.bytes + COST_BYTES };
    },
    answerFromProto: ({ hits, vectorCount, cost, boostDepth }, packed = false) => {
      if (!hits) return undefined;
      const utf8Hits = packed ? packedFromSent(hits) : null;
      if (utf8Hits !== null) return { hits: [], utf8Hits, vectorCount };
      return {
        hits: hitsFromBytes(hits),
        vectorCount,
        ...(cost && { cost: costFromProto(cost) }),
        ...(typeof boostDepth === 'number' && { boostDepth }),
      };
    },
  },
  score: {
    requestToProto: ({ vector, externalIds, bytesMax, boosts }) => ({
      vector: vectorToProto(vector),
      externalIds: stringsToBytes(externalIds),
      ...(bytesMax !== undefined && { bytesMax }),
      ...(boosts !== undefined && { boosts: boostsToText(boosts) }),
    }),
    requestFromProto: ({ vector, externalIds, bytesMax, boosts }) => ({
      vector: vectorFromProto(vector),
      externalIds: stringsFromBytes(externalIds),
      ...(bytesMax !== undefined && { bytesMax }),
      ...boostsFromProto(boosts),
    }),
    requestBytes: ({ vector, externalIds, boosts }) =>
      vector.byteLength + stringsBytes(externalIds) + boostsBytes(boosts),
    answerToProto: (hits) => hitsToProto(hits, 0),
    answerFromProto: ({ hits }) => hits && hitsFromBytes(hits),
  },
  boostNumbers: {
    requestToProto: ({ externalIds, boosts }) => ({
      externalIds: stringsToBytes(externalIds),
      boosts: boostsToText(boosts),
    }),
    requestFromProto: ({ externalIds, boosts: text }) => {
      const { boosts } = boostsFromProto(text);
      if (boosts === undefined) throw malformed('boosts');
      return { externalIds: stringsFromBytes(externalIds), boosts };
    },
    requestBytes: ({ externalIds, boosts }) => stringsBytes(externalIds) + boostsBytes(boosts),
    answerToProto: (numbers) => {
      const boostNumbers = JSON.stringify(numbers);
      return { message: { boostNumbers }, bytes: boostNumbers.length };
    },
    answerFromProto: ({ boostNumbers }) => {
      if (boostNumbers === undefined || boostNumbers === null) return undefined;
      const numbers = boostNumbersFromText(boostNumbers);
      if (numbers === null) throw malformed('numbers of boosts');
      return numbers;
    },
  },
  keywordSearch: {
    requestToProto: ({ terms, statistics, k, filter, bytesMax, plan, fieldWeights, boosts, part, versions }) => ({
      terms: stringsToBytes(terms),
      statistics,
      k,
      filter: filterToProto(filter),
      ...(plan !== undefined && { plan: keywordPlanToText(plan) }),
      ...(fieldWeights !== undefined && { fieldWeights: [...fieldWeights] }),
      ...(bytesMax !== undefined && { bytesMax }),
      ...(boosts !== undefined && { boosts: boostsToText(boosts) }),
      ...(part !== undefined && { part: partToProto(part) }),
      ...(versions && { versions }),
    }),
    requestFromProto: ({
      terms: termBytes,
      statistics,
      k,
      filter,
      bytesMax,
      plan: planText,
      fieldWeights,
      boosts,
      part,
      versions,
    }) => {
      if (statistics === null) throw malformed('keyword search');
      const terms = stringsFromBytes(termBytes);
      const plan = planText === '' ? undefined : keywordPlanFromText(planText, terms.length);
      if (plan === undefined && planText !== '') throw malformed('keyword plan');
      return {
        terms,
        ...(plan !== undefined && { plan }),
        ...(fieldWeights.length > 0 && { fieldWeights }),
        statistics,
        k,
        filter: filterFromProto(filter),
        ...(bytesMax !== undefined && { bytesMax }),
        ...boostsFromProto(boosts),
        ...(part && { part: partFromProto(part) }),
        ...(versions && { versions }),
      };
    },
    requestBytes: ({ terms, filter, plan, boosts, part }) =>
      stringsBytes(terms) +
      terms.length * VARINT_BYTES +
      filterBytes(filter) +
      boostsBytes(boosts) +
      partBytes(part) +
      (plan === undefined ? 0 : Buffer.byteLength(keywordPlanToText(plan))),
    answerToProto: (hits) => hitsToProto(hits, 0),
    answerFromProto: ({ hits }) => hits && hitsFromBytes(hits),
  },
  keywordStatistics: {
    requestToProto: ({ terms, fieldWeights }) => ({
      terms: stringsToBytes(terms),
      ...(fieldWeights !== undefined && { fieldWeights: [...fieldWeights] }),
    }),
    requestFromProto: ({ terms, fieldWeights }) => ({
      terms: stringsFromBytes(terms),
      ...(fieldWeights.length > 0 && { fieldWeights }),
    }),
    requestBytes: ({ terms }) => stringsBytes(terms),
    answerToProto: (keywordStatistics) => ({
      message: { keywordStatistics },
      bytes: keywordStatistics.documentFrequencies.length * VARINT_BYTES,
    }),
    answerFromProto: ({ keywordStatistics }) => keywordStatistics ?? undefined,
  },
  keywordExpansions: {
    requestToProto: (request) => ({ request: expansionRequestToText(request) }),
    requestFromProto: ({ request }) => {
      const asked = expansionRequestFromText(request);
      if (asked === null) throw malformed('question about terms');
      return asked;
    },
    requestBytes: (request) => Buffer.byteLength(expansionRequestToText(request)),
    answerToProto: (found) => {
      const expansions = expansionsToText(found);
      return { message: { expansions }, bytes: Buffer.byteLength(expansions) };
    },
    answerFromProto: ({ expansions }) => {
      if (expansions === undefined || expansions === null) return undefined;
      const found = expansionsFromText(expansions);
      if (found === null) throw malformed('answer about terms');
      return found;
    },
  },
  fetch: {
    requestToProto: ({ externalIds, vectors, texts, versions, expiries, dates, filling, bytesMax, filter }) => ({
      externalIds: stringsToBytes(externalIds),
      vectors,
      ...(texts === false && { withoutTexts: true }),
      ...(versions && { versions }),
      ...(expiries && { expiries }),
      ...(dates && { dates }),
      ...(filling && { filling }),
      ...(bytesMax !== undefined && { bytesMax }),
      ...(filter !== undefined && { filter: filterToProto(filter) }),
    }),
    requestFromProto: ({
      externalIds,
      vectors,
      withoutTexts,
      versions,
      expiries,
      dates,
      filling,
      bytesMax,
      filter,
    }) => ({
      externalIds: stringsFromBytes(externalIds),
      vectors,
      ...(withoutTexts === true && { texts: false }),
      ...(versions && { versions }),
      ...(expiries && { expiries }),
      ...(dates && { dates }),
      ...(filling && { filling }),
      ...(bytesMax !== undefined && { bytesMax }),
      ...(filter !== '' && { filter: filterFromProto(filter)! }),
    }),
    requestBytes: ({ externalIds, filter }) => stringsBytes(externalIds) + filterBytes(filter ?? null),
    answerToProto: itemsToProto,
    answerFromProto: ({ items }) => items && itemsFromBytes(items),
  },
  scan: {
    requestToProto: ({ after, limit, filter, vectors, texts, versions, expiries, dates, bytesMax }) => ({
      afterExternalId: after === null ? NOTHING : stringsToBytes([after.externalId]),
      afterStamp: after?.stamp ?? 0,
      limit,
      filter: filterToProto(filter),
      vectors,
      withoutTexts: texts === false,
      ...(versions && { versions }),
      ...(expiries && { expiries }),
      ...(dates && { dates }),
      ...(bytesMax !== undefined && { bytesMax }),
    }),
    requestFromProto: ({
      afterExternalId,
      afterStamp,
      limit,
      filter,
      vectors,
      withoutTexts,
      versions,
      expiries,
      dates,
      bytesMax,
    }) => {
      if (limit === 0) throw malformed('scan');
      const [externalId] = afterExternalId.length === 0 ? [] : stringsFromBytes(afterExternalId);
      const after = externalId === undefined ? null : { stamp: afterStamp, externalId };
      return {
        after,
        limit,
        filter: filterFromProto(filter),
        vectors,
        texts: !withoutTexts,
        ...(versions && { versions }),
        ...(expiries && { expiries }),
        ...(dates && { dates }),
        ...(bytesMax !== undefined && { bytesMax }),
      };
    },
    requestBytes: ({ filter }) => filterBytes(filter),
    answerToProto: itemsToProto,
    answerFromProto: ({ items }) => items && itemsFromBytes(items).filter((item) => item !== null),
  },
  sample: {
    requestToProto: ({ size, seed, filter }) => ({ size, seed, filter: filterToProto(filter) }),
    requestFromProto: ({ size, seed, filter }) => {
      if (size === 0) throw malformed('sample');
      return { size, seed, filter: filterFromProto(filter) };
    },
    requestBytes: ({ filter }) => filterBytes(filter),
    answerToProto: ({ population, externalIds, keys }) => {
      const hits = drawnToBytes({ externalIds, keys });
      return { message: { hits, vectorCount: population }, bytes: hits.length };
    },
    answerFromProto: ({ hits, vectorCount }) => hits && { population: vectorCount, ...drawnFromBytes(hits) },
  },
  lastVersion: {
    requestToProto: () => ({}),
    requestFromProto: () => null,
    requestBytes: () => 0,
    answerToProto: (lastVersion) => ({ message: { lastVersion }, bytes: 0 }),
    answerFromProto: ({ lastVersion }) => lastVersion,
  },
  count: {
    requestToProto: () => ({}),
    requestFromProto: () => null,
    requestBytes: () => 0,
    answerToProto: (count) => ({ message: { count }, bytes: 0 }),
    answerFromProto: ({ count }) => count,
  },
  matches: {
    requestToProto: ({ filter }) => ({ filter: filterToProto(filter) }),
    requestFromProto: ({ filter: text }) => {
      const filter = filterFromProto(text);
      if (filter === null) throw malformed('filter');
      return { filter };
    },
    requestBytes: ({ filter }) => filterBytes(filter),
    answerToProto: (matches) => ({ message: { matches }, bytes: 0 }),
    answerFromProto: ({ matches }) => matches,
  },
  aggregate: {
    requestToProto: ({ questions }) => ({ questions: questionsToText(questions) }),
    requestFromProto: ({ questions: text }) => {
      const questions = questionsFromText(text);
      if (questions === null) throw malformed('question about values');
      return { questions };
    },
    requestBytes: ({ questions }) => 3 * questionsToText(questions).length,
    answerToProto: (answers) => {
      const aggregates = answersToText(answers);
      return { message: { aggregates }, bytes: Buffer.byteLength(aggregates) };
    },
    answerFromProto: ({ aggregates }) => {
      if (aggregates === undefined) return undefined;
      const answers = answersFromText(aggregates);
      if (answers === null) throw malformed('aggregates');
      return answers;
    },
  },
  order: {
    requestToProto: (request) => ({ request: orderRequestToText(request) }),
    requestFromProto: ({ request: text }) => {
      const request = orderRequestFromText(text);
      if (request === null) throw malformed('question about an order');
      return request;
    },
    requestBytes: (request) => 3 * orderRequestToText(request).length,
    answerToProto: (answer) => {
      const order = orderAnswerToText(answer);
      return { message: { order }, bytes: Buffer.byteLength(order) };
    },
    answerFromProto: ({ order }) => {
      if (order === undefined) return undefined;
      const answer = orderAnswerFromText(order);
      if (answer === null) throw malformed('places in an order');
      return answer;
    },
  },
  status: {
    requestToProto: () => ({}),
    requestFromProto: () => null,
    requestBytes: () => 0,
    answerToProto: ({ segments, index, ...totals }) => {
      const status = {
        ...totals,
        index: index === null ? undefined : progressToProto(index),
        segments: segments.map(({ kind, ...counts }) => ({ sealed: kind === 'sealed', ...counts })),
      };
      return { message: { status }, bytes: segments.length * SEGMENT_BYTES + PROGRESS_BYTES };
    },
    answerFromProto: ({ status }) => {
      if (!status) return undefined;
      const { segments, index, ...totals } = status;
      return {
        ...totals,
        index: progressFromProto(index),
        segments: segments.map(({ sealed, ...counts }) => ({ kind: sealed ? 'sealed' : 'growing', ...counts })),
      };
    },
  },
  optimize: {
    requestToProto: () => ({}),
    requestFromProto: () => null,
    requestBytes: () => 0,
    answerToProto: (progress) => ({ message: { index: progressToProto(progress) }, bytes: PROGRESS_BYTES }),
    answerFromProto: ({ index }) => (index ? (progressFromProto(index) ?? undefined) : undefined),
  },
  transfer: {
    requestToProto: ({ after, limit, writesPerSecond }) => ({
      after,
      limit,
      ...(writesPerSecond !== undefined && { writesPerSecond }),
    }),
    requestFromProto: ({ after, limit, writesPerSecond }) => ({
      after,
      limit,
      ...(writesPerSecond !== undefined && { writesPerSecond }),
    }),
    requestBytes: () => 0,
    answerToProto: ({ externalIds, index, ...rest }) => ({
      message: {
        transfer: {
          ...rest,
          externalIds: stringsToBytes(externalIds),
          index: index === null ? undefined : progressToProto(index),
        },
      },
      bytes: stringsBytes(externalIds) + PROGRESS_BYTES * 2,
    }),
    answerFromProto: ({ transfer }) => {
      if (!transfer) return undefined;
      const { stage, externalIds, index, ...rest } = transfer;
      const known = SHARD_STAGES.find((name) => name === stage);
      if (known === undefined) throw malformed('transfer');
      return { ...rest, stage: known, externalIds: stringsFromBytes(externalIds), index: progressFromProto(index) };
    },
  },
  marks: {
    requestToProto: ({ token, after, limit }) => ({ token: token ?? '', after, limit }),
    requestFromProto: ({ token, after, limit }) => ({ token: token === '' ? null : token, after, limit }),
    requestBytes: () => 64,
    answerToProto: (records) => {
      const marks = dedupListToBytes(records);
      return { message: { marks }, bytes: marks.length };
    },
    answerFromProto: ({ marks }) => marks && dedupListFromBytes(marks),
  },
  fields: {
    requestToProto: (question) => ({ question: fieldFactsRequestToText(question) }),
    requestFromProto: ({ question }) => {
      const asked = fieldFactsRequestFromText(question);
      if (asked === null) throw malformed('question about fields');
      return asked;
    },
    requestBytes: (question) => 3 * fieldFactsRequestToText(question).length,
    answerToProto: (facts) => {
      const fields = factsToText(facts);
      return { message: { fields }, bytes: 3 * fields.length };
    },
    answerFromProto: ({ fields }) => {
      if (fields === undefined) return undefined;
      const facts = factsFromText(fields);
      if (facts === null) throw malformed('answer about fields');
      return facts;
    },
  },
  purge: {
    requestToProto: ({ start }) => ({ start }),
    requestFromProto: ({ start }) => ({ start }),
    requestBytes: () => 0,
    answerToProto: (purges) => {
      const purge = purgesToText(purges);
      return { message: { purge }, bytes: purge.length * 3 };
    },
    answerFromProto: ({ purge }) => {
      if (!purge) return undefined;
      const purges = purgesFromText(purge);
      if (purges === null) throw malformed('purge');
      return purges;
    },
  },
  backup: {
    requestToProto: ({ backup, target, base }) => ({ id: backup, target, base: base ?? undefined }),
    requestFromProto: ({ id, target, base }) => ({ backup: id, target, base }),
    requestBytes: ({ target, base }) => 256 + target.length * 3 + (base?.key.length ?? 0),
    answerToProto: ({ manifest, error, position, ...state }) => ({
      message: {
        backup: { ...state, manifest: manifest ?? undefined, error: error ?? '', position: position ?? undefined },
      },
      bytes: 1024 + state.needs.length * 64 + (error?.length ?? 0) * 3,
    }),
    answerFromProto: ({ backup }) => {
      if (!backup) return undefined;
      const { state, error, ...rest } = backup;
      if (state !== 'running' && state !== 'done' && state !== 'failed') throw malformed('backup');
      return { ...rest, state, error: error === '' ? null : error };
    },
  },
};

/** All kinds, in the order in which metrics list them. */
export const READ_KINDS = Object.keys(READ_CODECS) as readonly ReadKind[];

const NOTHING = Buffer.alloc(0);

function costToProto({ scored, rescored, detail }: SearchCost): ProtoSearchCost {
  return { scored, rescored, ...(detail && { detail: { ...detail, plan: SEARCH_PLANS.indexOf(detail.plan) } }) };
}

function costFromProto({ scored, rescored, detail }: SearchCost__Output): SearchCost {
  const plan = detail === null ? undefined : SEARCH_PLANS[detail.plan];
  return detail === null || plan === undefined
    ? { scored, rescored }
    : { scored, rescored, detail: { ...detail, plan } };
}

const STATES: ReadonlySet<string> = new Set<IndexProgress['state']>([
  'ready',
  'indexing',
  'refining',
  'compacting',
  'measuring',
]);

function progressToProto({ secondsLeft, ...progress }: IndexProgress): ProtoIndexProgress {
  return { ...progress, secondsLeft: secondsLeft ?? undefined };
}

/** null: the node is of an earlier version, or of a later one that has other states. */
function progressFromProto(proto: IndexProgress__Output | null): IndexProgress | null {
  if (proto === null || !STATES.has(proto.state)) return null;
  const { state, rows, indexedRows, refinedRows, secondsLeft, optimizing } = proto;
  return {
    state: state as IndexProgress['state'],
    rows,
    indexedRows,
    refinedRows,
    secondsLeft: secondsLeft ?? null,
    optimizing,
  };
}

/** `vectorCount`: vectors of the shard; 0 for reads that don't report it. */
function hitsToProto(list: readonly Hit[], vectorCount: number): SizedAnswer {
  const hits = hitsToBytes(list);
  return { message: { hits, vectorCount }, bytes: hits.length };
}

function itemsToProto(list: readonly (StoredItem | null)[]): SizedAnswer {
  const items = itemsToBytes(list);
  return { message: { items }, bytes: items.length };
}

function effortFromProto(ef: number, exact: boolean): SearchEffort {
  if (exact) return { type: 'exact' };
  return ef > 0 ? { type: 'ef', ef } : { type: 'calibrated' };
}

function filterBytes(filter: Filter | null): number {
  return filter === null ? 0 : Buffer.byteLength(filterToText(filter));
}

function filterToProto(filter: Filter | null): string {
  return filter === null ? '' : filterToText(filter);
}

function filterFromProto(text: string): Filter | null {
  if (text === '') return null;
  const filter = filterFromText(text);
  if (filter === undefined) throw malformed('filter');
  return filter;
}

/** What varies in length of them is characters that a client gave. */
function boostsBytes(boosts: Boosts | undefined): number {
  return boosts === undefined ? 0 : Buffer.byteLength(boostsToText(boosts));
}

function boostsFromProto(text: string | undefined): { boosts?: Boosts } {
  if (text === undefined) return {};
  const boosts = boostsFromText(text);
  if (boosts === null) throw malformed('boosts');
  return { boosts };
}

function vectorToProto(vector: Float32Array): Buffer {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
}

function vectorFromProto(bytes: Buffer): Float32Array {
  if (bytes.length % 4 !== 0) throw malformed('vector');
  return float32FromBytes(bytes);
}

function malformed(what: string): QuiverError {
  return new QuiverError('internal', `malformed ${what}`);
}
