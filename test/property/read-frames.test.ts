import fc from 'fast-check';
import { isQuiverError } from '../../shared/base/errors/quiver-error';
import { FRAME_TYPES, FrameReader } from '../../shared/wire/frames/frame-link';
import type { AnswerFrame, ReadFrame } from '../../shared/wire/generated/quiver/v1/reads';
import { readsDefinition } from '../../shared/wire/streams/protocol';
import {
  answerFrameFromBytes,
  answerFrameToBytes,
  readFrameFromBytes,
  readFrameToBytes,
} from '../../shared/wire/frames/read-frames';
import { anyText } from '../support/http/any-text';

/** The messages of reads over frames mean what protobuf makes of them, and any bytes give a message or an error. */

const { requestSerialize, requestDeserialize, responseSerialize, responseDeserialize } = readsDefinition.Exchange;
const anyNumber = fc.nat(2 ** 32 - 1);
const anyVector = fc
  .array(fc.nat(255), { maxLength: 12 })
  .map((bytes) => Buffer.from(bytes.slice(0, bytes.length - (bytes.length % 4))));
const anyHead = fc.record({
  id: anyNumber,
  shard: fc.record({ collectionUid: fc.string({ unit: 'binary' }), shard: anyNumber }),
  epoch: fc.maxSafeNat(),
  remainingMs: anyNumber,
});
const anySearch = fc.record(
  {
    vector: anyVector,
    k: anyNumber,
    filter: fc.string({ unit: 'binary' }),
    ef: anyNumber,
    exact: fc.boolean(),
    texts: fc.boolean(),
    counted: fc.constant(true as const),
    bytesMax: fc.integer({ min: 1, max: 21 }).map((n) => 1024 * 2 ** n),
  },
  { requiredKeys: ['vector', 'k', 'filter', 'ef', 'exact', 'texts'], noNullPrototype: true },
);
const anyRequest = fc.oneof(
  fc.tuple(anyHead, anySearch).map(([head, search]) => ({ ...head, search })),
  fc
    .tuple(anyHead, anySearch)
    .map(([head, search]) => ({ ...head, search, noted: { traceparent: 'a', tracestate: '' } })),
  fc.tuple(anyHead, anyNumber).map(([head, limit]) => ({ ...head, marks: { token: '', after: 1, limit } })),
);
const anyReadFrame: fc.Arbitrary<ReadFrame> = fc.record({
  requests: fc.array(anyRequest, { maxLength: 5 }),
  cancelledIds: fc.array(anyNumber, { maxLength: 3 }),
});
const anyBytes = fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes));
const anyAnswer = fc.oneof(
  fc.record({ id: anyNumber, more: fc.boolean(), vectorCount: fc.maxSafeNat(), hits: anyBytes }),
  fc.record({
    id: anyNumber,
    more: fc.constant(false),
    vectorCount: fc.maxSafeNat(),
    hits: anyBytes,
    cost: fc.record({ scored: anyNumber, rescored: anyNumber }),
  }),
  fc.record({ id: anyNumber, failure: fc.record({ kind: anyText, message: anyText, code: anyNumber }) }),
);
const anyAnswerFrame: fc.Arbitrary<AnswerFrame> = fc.record({ answers: fc.array(anyAnswer, { maxLength: 6 }) });

/** Fields that say nothing are absent in one form and null in the other; `_counted` is only protobuf's own. */
function plain(message: unknown): unknown {
  return JSON.parse(
    JSON.stringify(message, (key, value) =>
      value === null || key === '_counted' || key === '_bytesMax' ? undefined : value,
    ),
  );
}

function byId<Each extends { id: number }>(list: Each[]): Each[] {
  return [...list].sort((a, b) => a.id - b.id || JSON.stringify(plain(a)).localeCompare(JSON.stringify(plain(b))));
}

test('requests arrive as over protobuf, whatever shares their frame', () => {
  fc.assert(
    fc.property(anyReadFrame, (frame) => {
      const here = readFrameFromBytes(readFrameToBytes(frame));
      const there = requestDeserialize(requestSerialize(frame));
      expect(plain(byId(here.requests))).toEqual(plain(byId(there.requests)));
      expect(here.cancelledIds).toEqual(there.cancelledIds);
    }),
    { numRuns: 500 },
  );
});

test('a bound on bytes becomes the next power of two KiB', () => {
  const sent = (bytesMax: number): unknown =>
    readFrameFromBytes(
      readFrameToBytes({
        requests: [{ id: 1, shard: { collectionUid: 'u', shard: 0 }, search: { vector: Buffer.alloc(4), bytesMax } }],
      }),
    ).requests[0].search?.bytesMax;
  expect([1, 1024, 2048, 2049, 65_536, 4_194_304].map(sent)).toEqual([2048, 2048, 2048, 4096, 65_536, 4_194_304]);
});

test('answers arrive as over protobuf, in their order', () => {
  fc.assert(
    fc.property(anyAnswerFrame, (frame) => {
      expect(plain(answerFrameFromBytes(answerFrameToBytes(frame)))).toEqual(
        plain(responseDeserialize(responseSerialize(frame))),
      );
    }),
    { numRuns: 500 },
  );
});

test('damaged and cut messages give a message or a QuiverError', () => {
  fc.assert(
    fc.property(
      anyReadFrame,
      anyAnswerFrame,
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 5 }),
      fc.nat(),
      (requests, answers, damage, cut) => {
        for (const [bytes, read] of [
          [readFrameToBytes(requests), readFrameFromBytes],
          [answerFrameToBytes(answers), answerFrameFromBytes],
        ] as const) {
          if (bytes.length > 0) for (const [at, byte] of damage) bytes[at % bytes.length] = byte;
          for (const damaged of [bytes, bytes.subarray(0, cut % (bytes.length + 1))]) {
            try {
              read(damaged);
            } catch (error) {
              if (!isQuiverError(error)) throw error;
            }
          }
        }
      },
    ),
    { numRuns: 1000 },
  );
});

test('frames that are cut anywhere arrive whole and in their order', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(7), fc.uint8Array({ maxLength: 300 })), { maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
      (frames, pieces) => {
        const bytes = Buffer.concat(
          frames.flatMap(([type, content]) => {
            const head = Buffer.alloc(5);
            head.writeUInt32LE(content.length, 0);
            head[4] = type;
            return [head, content];
          }),
        );
        const heard: [number, Uint8Array][] = [];
        const reader = new FrameReader((type, content) => heard.push([type, Uint8Array.from(content)]));
        for (let at = 0, i = 0; at < bytes.length; i += 1) {
          const piece = pieces[i % pieces.length];
          reader.take(Buffer.from(bytes.subarray(at, at + piece)));
          at += piece;
        }
        expect(heard).toEqual(frames);
      },
    ),
    { numRuns: 300 },
  );
});

test('a frame that is too long is refused by its head, before the rest of it comes', () => {
  const heard: number[] = [];
  const reader = new FrameReader((type) => heard.push(type));
  reader.take(Buffer.from([0, 0, 0, 0, FRAME_TYPES.ping]));
  expect(() => reader.take(Buffer.from([1, 64, 0, 0, FRAME_TYPES.hello]))).toThrow(
    'a frame of 16385 bytes; at most 16384 are taken',
  );
  expect(heard).toEqual([FRAME_TYPES.ping]);
});
