import {
  connectionProof,
  type Greeting,
  isConnectionProof,
  isStreamProof,
  MemberProof,
  streamProof,
} from '../../../../../shared/base/secret/member-proof';
import { StreamNumbers } from '../../../../../shared/wire/streams/stream-numbers';

const SECRET = 'a secret of the cluster';
const GREETING: Greeting = {
  client: 'one',
  server: 'two',
  address: 'two:7100',
  clientNonce: Buffer.alloc(16, 1),
  serverNonce: Buffer.alloc(40, 2),
};
const proof = (secret = SECRET, otherSecret?: string): MemberProof => new MemberProof({ secret, otherSecret });

describe('a session', () => {
  test('has the same key on both sides, which neither side sends', () => {
    const proofs = proof().ofServer(GREETING);
    const session = proof().sessionWith(GREETING, proofs)!;
    const [ofServer] = proof().sessionsOf(GREETING);
    expect(session.export()).toEqual(ofServer.export());
    expect(proofs[0]).not.toEqual(session.export());
  });

  test.each<[string, Partial<Greeting>]>([
    ['another client', { client: 'three' }],
    ['another server', { server: 'three' }],
    ['another address', { address: 'three:7100' }],
    ["another nonce of the client's", { clientNonce: Buffer.alloc(16, 3) }],
    ["another nonce of the server's", { serverNonce: Buffer.alloc(40, 3) }],
    ['the same bytes, divided in another way', { client: 'onet', server: 'wo' }],
  ])('is not made by the proof of %s', (_what, changed) => {
    expect(proof().sessionWith(GREETING, proof().ofServer({ ...GREETING, ...changed }))).toBeNull();
  });

  test.each(['', 'another', `${SECRET} `, SECRET.slice(1)])(
    'is not made by who knows "%s" in the place of the secret',
    (secret) => {
      expect(proof().sessionWith(GREETING, proof(secret).ofServer(GREETING))).toBeNull();
    },
  );

  test.each([
    ['old', 'new', 'old', undefined],
    ['old', 'new', 'new', 'old'],
    ['new', 'old', 'old', 'new'],
    ['new', undefined, 'new', 'old'],
  ])(
    'is made while a secret is replaced: client %s (%s), server %s (%s)',
    (secret, other, serverSecret, serverOther) => {
      const server = proof(serverSecret, serverOther);
      const session = proof(secret, other).sessionWith(GREETING, server.ofServer(GREETING))!;
      const stream = { number: 1, path: '/a' };
      expect(
        server.sessionsOf(GREETING).filter((key) => isStreamProof(streamProof(session, stream), key, stream)),
      ).toHaveLength(1);
    },
  );
});

describe('the proof of a stream', () => {
  const [session] = proof().sessionsOf(GREETING);
  const given = streamProof(session, { number: 1, path: '/a' });

  test('is that of its number and method in its session', () => {
    expect(isStreamProof(given, session, { number: 1, path: '/a' })).toBe(true);
    expect(isStreamProof(given, session, { number: 2, path: '/a' })).toBe(false);
    expect(isStreamProof(given, session, { number: 1, path: '/b' })).toBe(false);
    expect(
      isStreamProof(given, proof().sessionsOf({ ...GREETING, address: 'three:7100' })[0], { number: 1, path: '/a' }),
    ).toBe(false);
    expect(isStreamProof(given.subarray(1), session, { number: 1, path: '/a' })).toBe(false);
  });

  test('is never that of a connection, and that of a connection is that of no stream', () => {
    const ofConnection = connectionProof(session);
    expect(isConnectionProof(ofConnection, session)).toBe(true);
    expect(
      isConnectionProof(ofConnection, proof().sessionsOf({ ...GREETING, serverNonce: Buffer.alloc(40, 3) })[0]),
    ).toBe(false);
    for (const path of ['', 'connection', '/quiver.v1.Members/Connection']) {
      for (const number of [0, 1, NaN]) {
        expect(isStreamProof(ofConnection, session, { number, path })).toBe(false);
        expect(isConnectionProof(streamProof(session, { number, path }), session)).toBe(false);
      }
    }
  });

  test('numbers count once, also when streams overtake each other', () => {
    const numbers = new StreamNumbers();
    expect([2, 1, 3, 1, 2, 0, -1, 1.5, NaN, 1_000, 900, 999, 999].map((number) => numbers.take(number))).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
      false,
      false,
      false,
      true,
      false,
      true,
      false,
    ]);
  });
});
