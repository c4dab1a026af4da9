import fc from 'fast-check';
import { exchangeFrames } from '../../node/replication/links/exchange-frames';
import { type AckFrame, type AppendFrame, exchangeCodec } from '../../node/replication/links/replication-definition';

/**
 * The messages of a replication stream over frames mean what protobuf makes of them, and any bytes give a message or an
 * error.
 */

const anyNumber = fc.maxSafeNat();
/** Mostly none. */
function few<Each>(each: fc.Arbitrary<Each>): fc.Arbitrary<Each[]> {
  return fc.oneof({ weight: 4, arbitrary: fc.constant<Each[]>([]) }, fc.array(each, { maxLength: 2 }));
}
const anyMoment = fc.double({ min: 0, max: 1e12, noNaN: true });
const anySession = fc.oneof(fc.uuid(), fc.string({ unit: 'binary' }), fc.string({ minLength: 250, maxLength: 260 }));
const anyPosition = fc.record({ epoch: anyNumber, sequence: anyNumber });
const anyMember = fc.record({
  id: anyNumber,
  collectionUid: fc.string(),
  shard: fc.nat(2 ** 32 - 1),
  epoch: anyNumber,
  prev: anyPosition,
  commit: anyNumber,
  recorded: fc.array(
    fc.record({ replica: fc.record({ node: fc.string(), store: fc.string() }), epoch: anyNumber, match: anyNumber }),
    { maxLength: 2 },
  ),
  unshippedFrom: anyNumber,
});
const anyBeat = fc.record({
  lane: fc.nat(1),
  session: anySession,
  generation: anyNumber,
  base: anyNumber,
  sentAt: anyMoment,
  sharesSince: anyMoment,
  joined: few(anyMember),
  left: few(anyNumber),
});
const anyAppend = fc.record({
  collectionUid: fc.string(),
  shard: fc.nat(2 ** 32 - 1),
  epoch: anyNumber,
  prev: anyPosition,
  commit: anyNumber,
  sentAt: anyMoment,
  releasesLease: fc.boolean(),
  recorded: fc.constant<AppendFrame['appends'][0]['recorded']>([]),
  entries: fc.constant<AppendFrame['appends'][0]['entries']>([]),
  sharesSince: anyMoment,
  withdrawsShare: fc.boolean(),
  unshippedFrom: anyNumber,
});
const anyAppendFrame: fc.Arbitrary<AppendFrame> = fc.record({
  node: fc.oneof({ weight: 4, arbitrary: fc.constant('') }, fc.string()),
  pieces: few(fc.record({ payloadId: fc.nat(2 ** 32 - 1), bytes: fc.uint8Array().map((bytes) => Buffer.from(bytes)) })),
  appends: few(anyAppend),
  beats: fc.array(anyBeat, { maxLength: 3 }),
});
const anyBeatAck = fc.record({
  session: anySession,
  generation: anyNumber,
  sentAt: anyMoment,
  excepted: few(anyNumber),
  isUnknown: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.boolean()),
});
const anyAckFrame: fc.Arbitrary<AckFrame> = fc.record({
  acks: few(
    fc.record({
      collectionUid: fc.string(),
      shard: fc.nat(2 ** 32 - 1),
      epoch: anyNumber,
      replica: fc.record({ node: fc.string(), store: fc.string() }),
      sentAt: anyMoment,
      awaited: anyNumber,
      fenced: fc.record({ promisedEpoch: anyNumber }),
    }),
  ),
  beats: fc.array(anyBeatAck, { maxLength: 3 }),
});

/** Without prototypes, and with absent submessages as protobuf has them. */
function plain(message: unknown): unknown {
  return JSON.parse(JSON.stringify(message, (_key, value) => (value === null ? undefined : value)));
}

const { requestSerialize, requestDeserialize, responseSerialize, responseDeserialize } = exchangeFrames;

test('appends and beats arrive as over protobuf, whatever shares their frame', () => {
  fc.assert(
    fc.property(anyAppendFrame, (frame) => {
      expect(plain(requestDeserialize(requestSerialize(frame)))).toEqual(
        plain(exchangeCodec.requestDeserialize(exchangeCodec.requestSerialize(frame))),
      );
    }),
    { numRuns: 500 },
  );
});

test('answers arrive as over protobuf', () => {
  fc.assert(
    fc.property(anyAckFrame, (frame) => {
      expect(plain(responseDeserialize(responseSerialize(frame)))).toEqual(
        plain(exchangeCodec.responseDeserialize(exchangeCodec.responseSerialize(frame))),
      );
    }),
    { numRuns: 500 },
  );
});

test('a beat that changes no set takes few bytes, and so does its answer', () => {
  const session = 'f'.repeat(40);
  const beat = { lane: 1, session, generation: 7, base: 7, sentAt: 1.5, sharesSince: 0, joined: [], left: [] };
  expect(requestSerialize({ node: '', pieces: [], appends: [], beats: [beat] })).toHaveLength(75);
  expect(
    responseSerialize({ acks: [], beats: [{ session, generation: 7, sentAt: 1.5, excepted: [], isUnknown: false }] }),
  ).toHaveLength(58);
});

test.each([
  [
    'appends',
    requestSerialize({
      node: '',
      pieces: [],
      appends: [],
      beats: [{ lane: 1, session: 'abc', generation: 7, base: 7, sentAt: 1.5, sharesSince: 0, joined: [], left: [] }],
    }),
    requestDeserialize,
  ],
  [
    'answers',
    responseSerialize({
      acks: [],
      beats: [{ session: 'abc', generation: 7, sentAt: 1.5, excepted: [], isUnknown: false }],
    }),
    responseDeserialize,
  ],
] as [string, Buffer, (bytes: Buffer) => unknown][])(
  'a message of %s that is cut anywhere, or has a form that is not known, is an error',
  (_what, bytes, read) => {
    for (let length = 2; length < bytes.length; length++) expect(() => read(bytes.subarray(0, length))).toThrow();
    expect(() => read(Buffer.alloc(0))).toThrow('form');
    expect(() => read(Buffer.concat([Buffer.of(2), bytes.subarray(1)]))).toThrow('form 2');
  },
);
