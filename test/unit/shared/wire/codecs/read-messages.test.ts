import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import type { Filter } from '../../../../../shared/contract/filter/filter';
import type {
  AnswerFrame__Output,
  ReadFrame__Output,
  ReadRequest,
} from '../../../../../shared/wire/generated/quiver/v1/reads';
import { FRAME_BYTES } from '../../../../../shared/wire/streams/message-bounds';
import { readsDefinition } from '../../../../../shared/wire/streams/protocol';
import { READ_KINDS } from '../../../../../shared/wire/codecs/read-codecs';
import { readFrameFromBytes, readFrameToBytes } from '../../../../../shared/wire/frames/read-frames';
import {
  ReadAnswer,
  readAnswerToProto,
  readErrorToProto,
  readKindOf,
  readRequestBytes,
  readRequestFromProto,
  readRequestToProto,
} from '../../../../../shared/wire/codecs/read-messages';
import type { AggregateQuestion } from '../../../../../shared/contract/shard/aggregate';
import type { Boosts } from '../../../../../shared/contract/shard/boosts';
import type { OrderRequest } from '../../../../../shared/contract/shard/item-order';
import type {
  AnswerOf,
  Hit,
  ListPart,
  ReadKind,
  RequestOf,
  StoredItem,
} from '../../../../../shared/contract/shard/shard-read';

/** Reads as members of all versions write them: an upgrade goes member by member, so these bytes must not change. */

const { requestSerialize, requestDeserialize, responseSerialize, responseDeserialize } = readsDefinition.Exchange;
const ID = 7;
const HEAD = { id: ID, shard: { collectionUid: 'u', shard: 3 }, epoch: 5, remainingMs: 900 };

const filter: Filter = { type: 'not', filter: { type: 'range', path: 'a.b', operator: 'gte', bound: 2 } };
const vector = Float32Array.of(1, -0.5);
const hits: Hit[] = [
  { externalId: 'é', score: 0.5, metadata: '{"a":1}' },
  { externalId: 'b', score: -1, metadata: '{}', text: 'words' },
];
const items: [StoredItem, StoredItem] = [
  { externalId: 'a', stamp: 9, metadata: '{}', text: null, vector },
  { externalId: '\ud800', stamp: 2 ** 40, metadata: '{"a":[]}', text: 'x' },
];
const order: OrderRequest = {
  keys: [{ field: 'a', descending: true, missingFirst: false }],
  filter,
  after: { values: ['\ud800'], externalId: 'é' },
  limit: 3,
};
const questions: AggregateQuestion[] = [
  {
    filter,
    externalIds: ['é'],
    parts: [
      { type: 'values', path: 'a', order: 'count', limit: 3, prefix: '\ud800', share: { of: 2, index: 1 } },
      { type: 'counts', path: 'a', values: [1, '1', true, null] },
      { type: 'numbers', path: 'a', sum: true },
      { type: 'spread', path: 'a', low: -1, high: 5e-324 },
      { type: 'distinct', path: 'a', hashes: false },
      { type: 'buckets', path: 'a', edges: [0, 1.5], times: true },
      { type: 'times', path: 'a' },
    ],
  },
];
const boosts: Boosts = {
  mode: 'multiply',
  parts: [
    { type: 'filter', filter, weight: 1.5 },
    { type: 'field', path: 'a', modifier: 'log1p', weight: -0.25, missing: null },
    {
      type: 'decay',
      path: '\ud800',
      shape: 'gauss',
      origin: { time: 9 },
      scale: 2,
      offset: 0,
      at: 0.5,
      weight: 1,
      missing: 0.5,
    },
  ],
};
const statistics = { documentCount: 4, totalLength: 300, documentFrequencies: [2, 0] };

interface Written<Kind extends ReadKind> {
  kind: Kind;
  request: RequestOf<Kind>;
  /** Base64 of the frame that holds it. */
  requestFrame: string;
  answer: AnswerOf<Kind>;
  answerFrame: string;
}

function written<Kind extends ReadKind>(
  kind: Kind,
  request: RequestOf<Kind>,
  requestFrame: string,
  answer: AnswerOf<Kind>,
  answerFrame: string,
): Written<Kind> {
  return { kind, request, requestFrame, answer, answerFrame };
}

const HITS_FRAME =
  'CkkIBxAAGABSQQIAAAAAAAAAAAAAAAAA4D8BAAAABwAAAP////8AAAAAAADwvwEAAAACAAAABQAAAMOpeyJhIjoxfWJ7fXdvcmRz';

const WRITTEN = [
  written(
    'search',
    { vector, k: 10, filter, effort: { type: 'ef', ef: 40 }, texts: true },
    'CnQIBxIFCgF1EAMYBSCEB1JkCggAAIA/AAAAvxAKGlB7InR5cGUiOiJub3QiLCJmaWx0ZXIiOnsidHlwZSI6InJhbmdlIiwicGF0aCI6ImEuYiIsIm9wZXJhdG9yIjoiZ3RlIiwiYm91bmQiOjJ9fSAoKAAwAQ==',
    { hits, vectorCount: 12 },
    'CkkIBxAAGAxSQQIAAAAAAAAAAAAAAAAA4D8BAAAABwAAAP////8AAAAAAADwvwEAAAACAAAABQAAAMOpeyJhIjoxfWJ7fXdvcmRz',
  ),
  written(
    'search',
    { vector, k: 1, filter: null, effort: { type: 'exact' }, texts: false },
    'CiQIBxIFCgF1EAMYBSCEB1IUCggAAIA/AAAAvxABGgAgACgBMAA=',
    { hits: [], vectorCount: 0 },
    'ChAIBxAAGABSCAAAAAAAAAAA',
  ),
  written(
    'search',
    { vector, k: 1, filter: null, effort: { type: 'calibrated' }, texts: false, counted: true },
    'CiYIBxIFCgF1EAMYBSCEB1IWCggAAIA/AAAAvxABGgAgACgAMAA4AQ==',
    { hits: [], vectorCount: 3, cost: { scored: 300, rescored: 12 } },
    'ChcIBxAAGAMiBQisAhAMUggAAAAAAAAAAA==',
  ),
  written(
    'score',
    { vector, externalIds: ['a', 'b'] },
    'Ci4IBxIFCgF1EAMYBSCEB1oeCggAAIA/AAAAvxISAgAAAAAAAAABAAAAAQAAAGFi',
    hits,
    HITS_FRAME,
  ),
  written(
    'keywordSearch',
    { terms: ['w'], statistics, k: 2, filter },
    'Cn4IBxIFCgF1EAMYBSCEB2puCg0BAAAAAAAAAAEAAAB3EgkIBBCsAhoCAgAYAiJQeyJ0eXBlIjoibm90IiwiZmlsdGVyIjp7InR5cGUiOiJyYW5nZSIsInBhdGgiOiJhLmIiLCJvcGVyYXRvciI6Imd0ZSIsImJvdW5kIjoyfX0=',
    hits,
    HITS_FRAME,
  ),
  written(
    'keywordStatistics',
    { terms: ['w', 'é'] },
    'CiUIBxIFCgF1EAMYBSCEB2IVChMCAAAAAAAAAAEAAAABAAAAd8Op',
    statistics,
    'Cg0IB2IJCAQQrAIaAgIA',
  ),
  written(
    'fetch',
    { externalIds: ['a', 'b'], vectors: true },
    'CiYIBxIFCgF1EAMYBSCEB3IWChICAAAAAAAAAAEAAAABAAAAYWIQAQ==',
    [items[0], null, items[1]],
    'CnwIBxAAWnYDAAAAAgAAAAEAAAAAAAAAAAAiQAEAAAACAAAA/////wIAAAAAAAAAAAAAAP////8AAAAAAAAAAAAAAAAAAAAAAABwQgEAAAAIAAAAAQAAAP////8AAIA/AAAAv2EAewB9AADYewAiAGEAIgA6AFsAXQB9AHgA',
  ),
  written(
    'scan',
    { after: { stamp: 9, externalId: 'a' }, limit: 3, filter, vectors: true, texts: false },
    'CoABCAcSBQoBdRADGAUghAd6cAoNAQAAAAAAAAABAAAAYREAAAAAAAAiQBgDIlB7InR5cGUiOiJub3QiLCJmaWx0ZXIiOnsidHlwZSI6InJhbmdlIiwicGF0aCI6ImEuYiIsIm9wZXJhdG9yIjoiZ3RlIiwiYm91bmQiOjJ9fSgBMAE=',
    items,
    'CmQIBxAAWl4CAAAAAgAAAAEAAAAAAAAAAAAiQAEAAAACAAAA/////wIAAAAAAAAAAABwQgEAAAAIAAAAAQAAAP////8AAIA/AAAAv2EAewB9AADYewAiAGEAIgA6AFsAXQB9AHgA',
  ),
  written(
    'scan',
    { after: null, limit: 3, filter: null, vectors: false, texts: true },
    'CiMIBxIFCgF1EAMYBSCEB3oTCgARAAAAAAAAAAAYAyIAKAAwAA==',
    [],
    'ChIIBxAAWgwAAAAAAAAAAAAAAAA=',
  ),
  written(
    'fetch',
    { externalIds: ['a'], vectors: false, texts: false },
    'CiMIBxIFCgF1EAMYBSCEB3ITCg0BAAAAAAAAAAEAAABhEAAYAQ==',
    [null],
    'CioIBxAAWiQBAAAAAAAAAAAAAAAAAAAAAAAAAP////8AAAAAAAAAAAAAAAA=',
  ),
  written(
    'sample',
    { size: 2, seed: 2 ** 32 - 1, filter },
    'CmsIBxIFCgF1EAMYBSCEB5oBWggCEP////8PGlB7InR5cGUiOiJub3QiLCJmaWx0ZXIiOnsidHlwZSI6InJhbmdlIiwicGF0aCI6ImEuYiIsIm9wZXJhdG9yIjoiZ3RlIiwiYm91bmQiOjJ9fQ==',
    { population: 9, externalIds: ['é', 'b'], keys: Float64Array.of(2 ** 53 - 1, 0) },
    'Ci8IBxAAGAlSJwIAAAD///////8/QwAAAAAAAAAAAgAAAAAAAAABAAAAAQAAAMOpYg==',
  ),
  written(
    'fields',
    { paths: ['a', 'é.\ud800'], dates: ['a'] },
    'CjwIBxIFCgF1EAMYBSCEB+oDKwopeyJwYXRocyI6WyJhIiwiw6kuXHVkODAwIl0sImRhdGVzIjpbImEiXX0=',
    { items: 3, present: [true, false], forms: [['Z', 'no time']], names: ['a', 'b.c'] },
    'ClUIB/IDUHsiaXRlbXMiOjMsInByZXNlbnQiOlt0cnVlLGZhbHNlXSwiZm9ybXMiOltbIloiLCJubyB0aW1lIl1dLCJuYW1lcyI6WyJhIiwiYi5jIl19',
  ),
  written('count', null, 'ChEIBxIFCgF1EAMYBSCEB4IBAA==', 0, 'CgQIB2gA'),
  written('lastVersion', null, 'ChEIBxIFCgF1EAMYBSCEB4IFAA==', 2 ** 52, 'CgwIB4kFAAAAAAAAMEM='),
  written(
    'matches',
    { filter },
    'CmMIBxIFCgF1EAMYBSCEB/IDUgpQeyJ0eXBlIjoibm90IiwiZmlsdGVyIjp7InR5cGUiOiJyYW5nZSIsInBhdGgiOiJhLmIiLCJvcGVyYXRvciI6Imd0ZSIsImJvdW5kIjoyfX0=',
    7,
    'CgUIB/gDBw==',
  ),
  written(
    'aggregate',
    { questions },
    'Co8ECAcSBQoBdRADGAUghAeCBP0DCvoDW3siZmlsdGVyIjp7InR5cGUiOiJub3QiLCJmaWx0ZXIiOnsidHlwZSI6InJhbmdlIiwicGF0aCI6ImEuYiIsIm9wZXJhdG9yIjoiZ3RlIiwiYm91bmQiOjJ9fSwiZXh0ZXJuYWxJZHMiOlsiw6kiXSwicGFydHMiOlt7InR5cGUiOiJ2YWx1ZXMiLCJwYXRoIjoiYSIsIm9yZGVyIjoiY291bnQiLCJsaW1pdCI6MywicHJlZml4IjoiXHVkODAwIiwic2hhcmUiOnsib2YiOjIsImluZGV4IjoxfX0seyJ0eXBlIjoiY291bnRzIiwicGF0aCI6ImEiLCJ2YWx1ZXMiOlsxLCIxIix0cnVlLG51bGxdfSx7InR5cGUiOiJudW1iZXJzIiwicGF0aCI6ImEiLCJzdW0iOnRydWV9LHsidHlwZSI6InNwcmVhZCIsInBhdGgiOiJhIiwibG93IjotMSwiaGlnaCI6NWUtMzI0fSx7InR5cGUiOiJkaXN0aW5jdCIsInBhdGgiOiJhIiwiaGFzaGVzIjpmYWxzZX0seyJ0eXBlIjoiYnVja2V0cyIsInBhdGgiOiJhIiwiZWRnZXMiOlswLDEuNV0sInRpbWVzIjp0cnVlfSx7InR5cGUiOiJ0aW1lcyIsInBhdGgiOiJhIn1dfV0=',
    [[[{ type: 'numbers', count: 1, others: 0, min: 2, max: 2, sum: '9' }]]],
    'CkwIB4oER1tbW3sidHlwZSI6Im51bWJlcnMiLCJjb3VudCI6MSwib3RoZXJzIjowLCJtaW4iOjIsIm1heCI6Miwic3VtIjoiOSJ9XV1d',
  ),
  written(
    'order',
    order,
    'CugBCAcSBQoBdRADGAUghAeSBNYBCtMBeyJrZXlzIjpbeyJmaWVsZCI6ImEiLCJkZXNjZW5kaW5nIjp0cnVlLCJtaXNzaW5nRmlyc3QiOmZhbHNlfV0sImZpbHRlciI6eyJ0eXBlIjoibm90IiwiZmlsdGVyIjp7InR5cGUiOiJyYW5nZSIsInBhdGgiOiJhLmIiLCJvcGVyYXRvciI6Imd0ZSIsImJvdW5kIjoyfX0sImFmdGVyIjp7InZhbHVlcyI6WyJcdWQ4MDAiXSwiZXh0ZXJuYWxJZCI6IsOpIn0sImxpbWl0IjozfQ==',
    { places: [{ values: [null, true, '\ud800'], externalId: 'é' }], more: true },
    'Ck8IB5oESnsicGxhY2VzIjpbeyJ2YWx1ZXMiOltudWxsLHRydWUsIlx1ZDgwMCJdLCJleHRlcm5hbElkIjoiw6kifV0sIm1vcmUiOnRydWV9',
  ),
  written(
    'status',
    null,
    'ChEIBxIFCgF1EAMYBSCEB4oBAA==',
    {
      vectorCount: 3,
      lastOperation: 8,
      lastStamp: 2 ** 41,
      diskBytes: 4096,
      memoryBytes: 77,
      segments: [
        { kind: 'growing', rows: 1, deletedRows: 0, ef: 0 },
        { kind: 'sealed', rows: 5, deletedRows: 1, ef: 40 },
      ],
      index: null,
    },
    'CioIB3ImCAMQCBkAAAAAAACAQiCAIChNMggIABABGAAgADIICAEQBRgBICg=',
  ),
  written(
    'optimize',
    null,
    'ChEIBxIFCgF1EAMYBSCEB5IBAA==',
    { state: 'refining', rows: 9, indexedRows: 8, refinedRows: 3, secondsLeft: 1.5, optimizing: true },
    'CiAIB4IBGwoIcmVmaW5pbmcQCRgIIAMpAAAAAAAA+D8wAQ==',
  ),
  written(
    'optimize',
    null,
    'ChEIBxIFCgF1EAMYBSCEB5IBAA==',
    { state: 'indexing', rows: 9, indexedRows: 0, refinedRows: 0, secondsLeft: null, optimizing: false },
    'ChcIB4IBEgoIaW5kZXhpbmcQCRgAIAAwAA==',
  ),
];

const requestsIn = (frame: Buffer) => (requestDeserialize(frame) as ReadFrame__Output).requests;
const answersIn = (frame: Buffer) => (responseDeserialize(frame) as AnswerFrame__Output).answers;
const failureOf = (kind: string, message: string) => expect.objectContaining({ kind, message });

function sent<Kind extends ReadKind>(kind: Kind, answer: AnswerOf<Kind>) {
  return readAnswerToProto(ID, kind, answer).map(({ message, bytes }) => ({
    frame: responseSerialize({ answers: [message] }),
    bytes,
  }));
}

describe('reads between members', () => {
  test.each(WRITTEN.map((read) => [read.kind, read] as const))(
    '%s (%#) has the bytes that it always had, and is read from them',
    (_kind, read: Written<ReadKind>) => {
      const { kind, request, answer } = read;
      const requestFrame = requestSerialize({
        requests: [readRequestToProto({ ...HEAD }, kind, request)],
        cancelledIds: [],
      });
      expect(requestFrame.toString('base64')).toBe(read.requestFrame);
      expect(readRequestBytes(kind, request)).toBeGreaterThanOrEqual(requestFrame.length);
      const [asked] = requestsIn(requestFrame);
      expect(readKindOf(asked)).toBe(kind);
      expect(readRequestFromProto(kind, asked)).toStrictEqual(request);

      const [{ frame, bytes }, ...more] = sent(kind, answer);
      expect(more).toEqual([]);
      expect(frame.toString('base64')).toBe(read.answerFrame);
      expect(bytes).toBeGreaterThanOrEqual(frame.length);
      expect(new ReadAnswer(kind).add(answersIn(frame)[0])).toStrictEqual(answer);
    },
  );

  test.each([
    [
      'search',
      {
        hits: Array.from({ length: 30_000 }, (_, i) => ({
          externalId: `id-${i}`,
          score: 1 / i,
          metadata: `{"n":${i},"filling":"${'x'.repeat(40)}"}`,
        })),
        vectorCount: 9,
      },
    ],
    [
      'fetch',
      Array.from({ length: 600 }, (_, i) => ({
        externalId: `id-${i}`,
        stamp: i,
        metadata: '{}',
        text: null,
        vector: new Float32Array(1_000).fill(i),
      })),
    ],
  ] as const)('a long answer of %s comes in several messages', (kind, answer) => {
    const parts = sent(kind, answer as AnswerOf<typeof kind>);
    expect(parts.length).toBeGreaterThan(2);
    const whole = new ReadAnswer(kind);
    const taken = parts.map(({ frame }) => whole.add(answersIn(frame)[0]));
    expect(taken.slice(0, -1).every((part) => part === undefined)).toBe(true);
    expect(taken.at(-1)).toStrictEqual(answer);
    for (const { frame, bytes } of parts) {
      expect(bytes).toBeGreaterThanOrEqual(frame.length);
      expect(frame.length).toBeLessThan(FRAME_BYTES + 1_000);
    }
  });

  test('an error comes as it is, also after parts of an answer', () => {
    const frame = responseSerialize({ answers: [readErrorToProto(ID, new QuiverError('overloaded', 'no')).message] });
    expect(frame.toString('base64')).toBe('ChcIB3oTCgpvdmVybG9hZGVkEgJubxitAw==');
    const answer = new ReadAnswer('scan');
    answer.add({ id: ID, more: true, vectorCount: 0, cost: null, served: null, items: Buffer.from('the first') });
    expect(() => answer.add(answersIn(frame)[0])).toThrow(failureOf('overloaded', 'no'));
  });

  test('an answer to another question is refused', () => {
    const [{ frame }] = sent('count', 3);
    for (const kind of READ_KINDS.filter((other) => other !== 'count')) {
      expect(() => new ReadAnswer(kind).add(answersIn(frame)[0])).toThrow(
        failureOf('internal', `a node answered ${kind} with count`),
      );
    }
    expect(() => new ReadAnswer('count').add(answersIn(Buffer.from([0x0a, 2, 8, ID]))[0])).toThrow(
      'nothing that is known here',
    );
  });

  test.each([
    ['no count', Buffer.of(1)],
    ['fewer keys than it says', Buffer.of(2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)],
    ['fewer ids than keys', Buffer.concat([Buffer.of(1, 0, 0, 0), Buffer.alloc(8), Buffer.alloc(8)])],
  ])('a sample is refused that has %s', (_what, hits) => {
    const [answer] = answersIn(responseSerialize({ answers: [{ id: ID, hits }] }));
    expect(() => new ReadAnswer('sample').add(answer)).toThrow(failureOf('internal', 'malformed sample'));
  });

  test('a kind that a later version knows is refused', () => {
    const [asked] = requestsIn(requestSerialize({ requests: [HEAD], cancelledIds: [] }));
    expect(() => readKindOf(asked)).toThrow(failureOf('internal', 'a read of a kind that this node does not know'));
  });

  test.each([
    ['search', 'malformed vector', { search: { vector: Buffer.alloc(3) } }],
    [
      'search',
      'malformed filter',
      { search: { vector: Buffer.alloc(4), filter: '{"type":"equals","path":1,"value":1}' } },
    ],
    ['scan', 'malformed filter', { scan: { limit: 1, filter: 'no JSON' } }],
    [
      'aggregate',
      'malformed question about values',
      { aggregate: { questions: '[{"filter":null,"externalIds":null,"parts":[{"type":"values"}]}]' } },
    ],
    ['order', 'malformed question about an order', { order: { request: '{"keys":[],"filter":null,"after":null}' } }],
    ['scan', 'malformed scan', { scan: { limit: 0 } }],
    ['sample', 'malformed sample', { sample: { size: 0 } }],
    ['keywordSearch', 'malformed keyword search', { keywordSearch: { terms: Buffer.alloc(8) } }],
    ...['{', '{"units":[{"terms":[9],"isOptional":true}],"minimum":1}', '{"units":[],"minimum":-1}'].map(
      (plan) =>
        [
          'keywordSearch',
          'malformed keyword plan',
          { keywordSearch: { terms: Buffer.alloc(8), statistics, plan } },
        ] as const,
    ),
    ...['{}', '{"mode":"add","parts":[]}', '{"mode":"add","parts":[{"type":"field","path":"a","weight":null}]}'].map(
      (text) => ['search', 'malformed boosts', { search: { vector: Buffer.alloc(4), boosts: text } }] as const,
    ),
    ['boostNumbers', 'malformed boosts', { boostNumbers: { boosts: '' } }],
    ['keywordExpansions', 'malformed question about terms', { keywordExpansions: { request: '{"term":"a","by":3}' } }],
    ['fetch', 'malformed strings', { fetch: { externalIds: Buffer.of(9, 0, 0, 0, 0, 0, 0, 0) } }],
  ] as const)('a %s is refused: %s', (kind, message, call) => {
    const [asked] = requestsIn(requestSerialize({ requests: [{ ...HEAD, ...call }], cancelledIds: [] }));
    expect(() => readRequestFromProto(kind, asked)).toThrow(failureOf('internal', message));
  });
});

test('hits arrive with the versions that they have', () => {
  const versioned = [...hits.map((hit, i) => ({ ...hit, version: 2 ** 51 + i })), { ...hits[0], metadata: '' }];
  for (const list of [versioned, versioned.slice(0, 1), hits]) {
    const [{ message }] = readAnswerToProto(ID, 'search', { hits: list, vectorCount: 3 });
    const [answer] = answersIn(responseSerialize({ answers: [message] }));
    expect(new ReadAnswer('search', true).add(answer)).toMatchObject({ hits: list });
  }
});

const part: ListPart = { versionMax: 2 ** 52, after: { score: -Infinity, externalId: 'é\ud800' }, passed: 7 };

/** A request of each kind with every field that there is: a new one has to be put here, or this does not compile. */
const WHOLE: { readonly [Kind in ReadKind]: RequestOf<Kind> extends null ? null : Required<RequestOf<Kind>> } = {
  // Who asks in its own process alone says `packed`.
  search: {
    vector,
    k: 10,
    filter,
    effort: { type: 'ef', ef: 40 },
    texts: true,
    counted: true,
    packed: true,
    bytesMax: 2 ** 20,
    part,
    boosts,
    versions: true,
  },
  score: { vector, externalIds: ['a', 'b'], bytesMax: 2 ** 20, boosts },
  boostNumbers: { externalIds: ['a'], boosts },
  keywordSearch: {
    terms: ['w', 'é'],
    statistics,
    plan: {
      units: [
        { terms: [0], factors: [0.5], isOptional: true },
        { terms: [1, 0], isOptional: false, filter },
      ],
      minimum: 1,
    },
    fieldWeights: [3, 0, 20],
    k: 2,
    filter,
    bytesMax: 2 ** 20,
    part: { ...part, after: null },
    boosts,
    versions: true,
  },
  keywordStatistics: { terms: ['w', 'é'], fieldWeights: [0, 1] },
  keywordExpansions: { term: 'é', by: 2, after: 'a', limit: 3 },
  fetch: {
    externalIds: ['a'],
    vectors: true,
    texts: false,
    versions: true,
    expiries: true,
    dates: true,
    filling: true,
    bytesMax: 2 ** 20,
    filter,
  },
  scan: {
    after: { stamp: 9, externalId: 'a' },
    limit: 3,
    filter,
    vectors: true,
    texts: true,
    versions: true,
    expiries: true,
    dates: true,
    bytesMax: 2 ** 20,
  },
  sample: { size: 2, seed: 7, filter },
  fields: { paths: ['a'], dates: ['b'] },
  count: null,
  lastVersion: null,
  matches: { filter },
  aggregate: { questions },
  order,
  status: null,
  optimize: null,
  transfer: { after: 3, limit: 4, writesPerSecond: 5 },
  marks: { token: 't', after: 3, limit: 4 },
  purge: { start: true },
  backup: { backup: 'b', target: 't', base: { key: 'p', sha256: 'a'.repeat(64), bytes: 9 } },
};

test.each(Object.keys(WHOLE) as ReadKind[])(
  'every field of a request of %s arrives, over protobuf and in frames',
  (kind) => {
    const request = WHOLE[kind] as RequestOf<typeof kind>;
    const proto = (): ReadRequest => readRequestToProto({ ...HEAD }, kind, request);
    const frames = [
      (requestDeserialize(requestSerialize({ requests: [proto()], cancelledIds: [] })) as ReadFrame__Output).requests,
      readFrameFromBytes(readFrameToBytes({ requests: [proto()] })).requests,
    ];
    const { packed: _packed, ...sentFields } = (request ?? {}) as { packed?: true };
    for (const [asked] of frames)
      expect(readRequestFromProto(kind, asked)).toStrictEqual(request === null ? null : sentFields);
  },
);
