import http2 from 'node:http2';
import { type Metadata, status } from '@grpc/grpc-js';
import { type AddressInfo, connect, createServer, type Server as NetServer, type Socket } from 'node:net';
import {
  administrationDefinition,
  type AdministrationRequest,
  type WireReport,
} from '../../shared/wire/administration';
import { silentLogger } from '../../shared/base/logs/logger';
import { FRAME_TYPES, FrameReader, frameOf } from '../../shared/wire/frames/frame-link';
import {
  bytesOf,
  CONNECTION_PATH,
  metadataFromBytes,
  metadataOf,
  metadataToBytes,
} from '../../shared/wire/handshake/handshake-metadata';
import { MemberAdmission } from '../../shared/wire/handshake/member-admission';
import { MemberHandshake } from '../../shared/wire/handshake/member-handshake';
import { LossyRequestService } from '../../shared/wire/streams/lossy-request-service';
import { PROOF_GREETING, READS_WELCOME } from '../../shared/wire/frames/reads-greeting';
import { type ClusterCredentials, RpcChannel, type StreamEnd } from '../../shared/wire/streams/rpc-channel';
import { RpcServer } from '../../shared/wire/streams/rpc-server';
import type { StreamAdmission } from '../../shared/wire/streams/stream-admission';
import type { UnprovenBounds, UnprovenConnections } from '../../shared/wire/handshake/unproven-connections';
import { MemberProof } from '../../shared/base/secret/member-proof';
import { eventually } from '../support/eventually';
import { beginning } from '../support/http/http2-frames';
import { PLAIN, SECRET } from '../support/cluster/rpc-node';

/** Connections of members without TLS, on which both ends prove themselves before HTTP/2 begins. */

const PREFACE = 'PRI * HTTP/2.0';
const HOUR_MS = 3_600_000;

interface Member {
  server: RpcServer;
  port: number;
  address: string;
  /** How HTTP/2 got its connections: in small pieces as a stranger's, or as they are, from a member. */
  arrivals: ('strange' | 'proven')[];
  /** Lines of its log. */
  told: string[];
  /** Connections over which nobody has proven anything yet. */
  unproven: () => number;
}

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function start(
  options: { secret?: string; port?: number; unproven?: UnprovenBounds; addressOf?: () => string } = {},
): Promise<Member> {
  const told: string[] = [];
  const tell = (_fields: object, message: string): void => void told.push(message);
  const service = new LossyRequestService<AdministrationRequest, WireReport>({
    definition: administrationDefinition,
    answer: async () => ({ report: { shards: [] }, digest: null }),
    onError: () => undefined,
  });
  const { secret = SECRET, port: at = 0, ...rest } = options;
  const server = new RpcServer({
    ...PLAIN,
    ...rest,
    secret,
    name: 'the-server',
    log: { ...silentLogger, warn: tell, error: tell },
    services: [service],
  });
  const arrivals: Member['arrivals'] = [];
  const { strangers, unproven } = server as unknown as { strangers: StreamAdmission; unproven: UnprovenConnections };
  const { arriving, arrivingProven } = strangers;
  strangers.arriving = (...given) => {
    arrivals.push('strange');
    arriving.apply(strangers, given);
  };
  strangers.arrivingProven = (...given) => {
    arrivals.push('proven');
    arrivingProven.apply(strangers, given);
  };
  const port = await server.listen(`127.0.0.1:${at}`);
  endings.push(() => server.close(0));
  const { waiting } = unproven as unknown as { waiting: Map<string, unknown> };
  return { server, port, address: `127.0.0.1:${port}`, arrivals, told, unproven: () => waiting.size };
}

function channelTo(address: string, credentials: Partial<ClusterCredentials> = {}): RpcChannel {
  const channel = new RpcChannel({ address, credentials: { ...PLAIN, name: 'the-client', ...credentials } });
  endings.push(() => channel.close());
  return channel;
}

/** What comes of a stream: `ready`, or how it ended. */
function open(channel: RpcChannel): Promise<'ready' | StreamEnd> {
  return new Promise((done) =>
    channel.open(administrationDefinition.Exchange, {
      ready: () => done('ready'),
      frame: () => undefined,
      ended: done,
    }),
  );
}

/** Once more, until the connection that was lost is there again. */
async function openAgain(channel: RpcChannel): Promise<void> {
  await eventually('it is ready', async () => (await open(channel)) === 'ready');
}

/**
 * A way to a member that notes what the client of each connection sends. `accidents`: so many of those that begin with
 * a proof are cut.
 */
async function wayTo(port: () => number, accidents = 0): Promise<{ address: string; sent: Buffer[]; cut: () => void }> {
  let left = accidents;
  const sent: Buffer[] = [];
  const sockets: Socket[] = [];
  const server: NetServer = createServer((near) => {
    const far = connect(port(), '127.0.0.1');
    const index = sent.push(Buffer.alloc(0)) - 1;
    near.on('data', (bytes) => {
      if (sent[index].length === 0 && bytes.subarray(0, PROOF_GREETING.length).equals(PROOF_GREETING) && left > 0) {
        left -= 1;
        near.destroy();
      }
      sent[index] = Buffer.concat([sent[index], bytes]);
    });
    for (const socket of [near, far])
      socket.on('error', () => undefined).on('close', () => [near, far].forEach((each) => each.destroy()));
    sockets.push(near, far);
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const cut = (): void => sockets.splice(0).forEach((socket) => socket.destroy());
  endings.push(() => {
    cut();
    server.close();
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, sent, cut };
}

/**
 * Somebody who sends these pieces, the first at once and each other one when something was heard. Answers all that was
 * heard until the end.
 */
function stranger(
  port: number,
  ...pieces: (Buffer | ((heard: Buffer) => Buffer))[]
): { socket: Socket; heard: Promise<Buffer> } {
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  const send = (): void => {
    const piece = pieces.shift();
    if (piece !== undefined) socket.write(typeof piece === 'function' ? piece(Buffer.concat(chunks)) : piece);
  };
  socket.on('data', (chunk) => {
    chunks.push(chunk);
    send();
  });
  const heard = new Promise<Buffer>((done) =>
    socket.on('error', () => undefined).on('close', () => done(Buffer.concat(chunks))),
  );
  endings.push(() => socket.destroy());
  send();
  return { socket, heard };
}

/** Frames among these bytes. */
function framesOf(bytes: Buffer): { type: number; content: Buffer }[] {
  const frames: { type: number; content: Buffer }[] = [];
  new FrameReader((type, content) => frames.push({ type, content })).take(bytes);
  return frames;
}

/** The client's side of the greeting by hand. */
function byHand(address: string, secret = SECRET) {
  const handshake = new MemberHandshake({
    address,
    name: 'by-hand',
    proof: new MemberProof({ secret }),
    log: silentLogger,
  });
  const { clientNonce, metadata } = handshake.hello();
  const hello = frameOf(FRAME_TYPES.hello, metadataToBytes(metadata));
  /** `path`: as of a stream with this path. */
  const proofFor = (heard: Buffer, path?: string): Buffer => {
    const [{ content }] = framesOf(heard.subarray(READS_WELCOME.length));
    const session = handshake.outcomeOf(metadataFromBytes(content), clientNonce);
    if (!('key' in session)) throw new Error(session.reason);
    const metadata =
      path === undefined ? handshake.metadataForConnection(session) : handshake.metadataFor(session, path);
    return frameOf(FRAME_TYPES.stream, metadataToBytes(metadata));
  };
  return { hello, greeting: Buffer.concat([PROOF_GREETING, hello]), proofFor };
}

test('a channel proves itself first, on a connection that HTTP/2 gets as it is', async () => {
  const member = await start({ addressOf: () => way.address });
  const way = await wayTo(() => member.port);
  const channel = channelTo(way.address);
  expect(await open(channel)).toBe('ready');
  expect(member.arrivals).toEqual(['proven']);
  way.cut();
  await openAgain(channel);
  expect(await open(channelTo(way.address))).toBe('ready');
  expect(member.arrivals).toEqual(['proven', 'proven', 'proven']);
  for (const sent of way.sent.map((bytes) => bytes.toString('latin1'))) {
    expect(sent.startsWith(PROOF_GREETING.toString())).toBe(true);
    const [hello, stream] = framesOf(Buffer.from(sent.slice(PROOF_GREETING.length, sent.indexOf(PREFACE)), 'latin1'));
    expect([hello.type, stream.type]).toEqual([FRAME_TYPES.hello, FRAME_TYPES.stream]);
  }
  expect(way.sent.join('')).not.toContain(SECRET);
  expect(member.unproven()).toBe(0);
  expect(member.told).toEqual([]);
});

const beginningsOn = ({ sent }: { sent: Buffer[] }): string[] =>
  sent.map((bytes) => (bytes.subarray(0, PROOF_GREETING.length).equals(PROOF_GREETING) ? 'proof' : 'http2'));

test('after an accident on the way the proof comes first again, also for the first connection', async () => {
  const member = await start({ addressOf: () => way.address });
  const way = await wayTo(() => member.port, 2);
  const channel = channelTo(way.address);
  expect(await open(channel)).toBe('ready');
  expect(member.arrivals.at(-1)).toBe('proven');
  expect(beginningsOn(way)).toEqual(['proof', 'http2', 'proof', 'http2', 'proof']);
});

test('where no proof ever comes through, a few connections are made, and the last one is used', async () => {
  const member = await start({ addressOf: () => way.address });
  const way = await wayTo(() => member.port, Infinity);
  const channel = channelTo(way.address);
  expect(await open(channel)).toBe('ready');
  expect(await open(channel)).toBe('ready');
  const once = ['proof', 'http2'];
  expect(beginningsOn(way)).toEqual([...once, ...once, ...once, ...once]);
  way.cut();
  await openAgain(channel);
  expect(new Set(member.arrivals)).toEqual(new Set(['strange']));
});

test('a connection with streams is not made anew, and the next one begins with a proof', async () => {
  const member = await start({ addressOf: () => way.address });
  const way = await wayTo(() => member.port, 4);
  const channel = channelTo(way.address);
  let hasEnded = false;
  await new Promise<void>((ready) =>
    channel.open(administrationDefinition.Exchange, {
      ready: () => ready(),
      frame: () => undefined,
      ended: () => (hasEnded = true),
    }),
  );
  const before = [...member.arrivals];
  expect(before.at(-1)).toBe('strange');
  // As if a while had passed, and the session were due for renewal.
  const { session, proof } = channel as unknown as { session: { session: unknown }; proof: { anewAtMs: number[] } };
  session.session = null;
  proof.anewAtMs.length = 0;
  expect(await open(channel)).toBe('ready');
  expect([member.arrivals, hasEnded]).toEqual([before, false]);
  way.cut();
  await openAgain(channel);
  expect(member.arrivals.at(-1)).toBe('proven');
});

test('another secret is refused, and both logs say so', async () => {
  const member = await start();
  const told: string[] = [];
  const log = { ...silentLogger, error: (_fields: object, message: string) => void told.push(message) };
  const channel = channelTo(member.address, { secret: 'another secret', log });
  expect(await open(channel)).toMatchObject({ isRefused: true, reason: expect.stringContaining('did not prove') });
  await eventually('both have said it', () => told.length > 0 && member.told.length > 0);
  expect([told.length, member.told.length]).toEqual([1, 1]);
  expect(member.told[0]).toContain('CLUSTER_SECRET is not the same');
  expect(member.arrivals).toEqual(['strange']);
});

test('a member of another name for its address gets no proof, and is told over HTTP/2', async () => {
  const member = await start({ addressOf: () => address });
  const address = 'elsewhere:7100';
  expect(await open(channelTo(member.address))).toMatchObject({
    isRefused: false,
    reason: expect.stringContaining('this member has another address'),
  });
  expect((await stranger(member.port, byHand(member.address).greeting).heard).toString()).toBe('');
});

test('an impostor is sent nothing but hellos', async () => {
  const impostor = await start({ secret: 'of an impostor' });
  expect(await open(channelTo(impostor.address))).toMatchObject({ isRefused: true });
  expect(impostor.arrivals).toEqual(['strange']);
});

test('a recorded connection opens nothing a second time, neither there nor at another member', async () => {
  const member = await start({ addressOf: () => way.address });
  const way = await wayTo(() => member.port);
  const channel = channelTo(way.address);
  expect(await open(channel)).toBe('ready');
  const other = await start({ addressOf: () => way.address });
  const [recorded] = way.sent;
  const hello = recorded.subarray(0, PROOF_GREETING.length + 5 + recorded.readUInt32LE(PROOF_GREETING.length));
  const before = [...member.arrivals];
  for (const { port } of [member, other]) {
    const { heard } = stranger(port, hello, recorded.subarray(hello.length));
    // Somebody is answered who says hello, and nothing after that.
    expect(framesOf((await heard).subarray(READS_WELCOME.length)).map(({ type }) => type)).toEqual([
      FRAME_TYPES.greeting,
    ]);
  }
  expect(member.arrivals).toEqual(before);
  expect(other.arrivals).toEqual([]);
  for (const { unproven } of [member, other]) expect(unproven()).toBe(0);
});

/** What a stream over HTTP/2 is answered that begins so, on a connection of its own, which stays open. */
async function overHttp2(port: number, path: string, metadata: Metadata): Promise<number> {
  const session = http2.connect(`http://127.0.0.1:${port}`);
  endings.push(() => session.destroy());
  session.on('error', () => undefined);
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...metadata.toHttp2Headers(),
  } as http2.OutgoingHttpHeaders);
  return new Promise((done, fail) => {
    stream.once('response', (headers) => done(Number(headers['grpc-status'] ?? NaN)));
    stream.once('error', fail);
    stream.resume().end();
  });
}

const { Exchange } = administrationDefinition;

test.each<[string, string, string | undefined]>([
  ['the proof of a connection, sent under the name of none', CONNECTION_PATH, undefined],
  ['the proof of a connection, sent as that of a method', Exchange.path, undefined],
  ['the proof of a stream with the name of no method', CONNECTION_PATH, CONNECTION_PATH],
])('%s opens no stream over HTTP/2, and that connection stays unproven', async (_, path, proofOf) => {
  const member = await start({ unproven: { withinMs: HOUR_MS } });
  const { sessions } = (member.server as unknown as { admission: { sessions: Map<string, unknown> } }).admission;
  const { greeting, proofFor } = byHand(member.address);
  let proof: Buffer = Buffer.alloc(0);
  // Once as it was recorded, where it has counted, and once where it was kept back.
  for (const isSent of [true, false]) {
    proof = Buffer.alloc(0);
    const { socket } = stranger(member.port, greeting, (heard) => {
      proof = proofFor(heard, proofOf);
      return isSent ? proofFor(heard) : Buffer.alloc(0);
    });
    await eventually('it is there', () => proof.length > 0 && (!isSent || member.arrivals.includes('proven')));
    const unproven = member.unproven();
    expect(await overHttp2(member.port, path, metadataFromBytes(framesOf(proof)[0].content))).toBe(
      status.UNAUTHENTICATED,
    );
    expect([member.unproven(), sessions.size]).toEqual([unproven + 1, 0]);
    socket.destroy();
  }
  expect(member.arrivals).toEqual(['proven', 'strange', 'strange']);
});

test.each([CONNECTION_PATH, Exchange.path, '', 'connection'])(
  'the proof of a stream with the path "%s" proves no connection, not even the one that it is for',
  async (path) => {
    const member = await start();
    const { greeting, proofFor } = byHand(member.address);
    let proof: Buffer = Buffer.alloc(0);
    const { heard } = stranger(member.port, greeting, (answer) => (proof = proofFor(answer, path)));
    expect(framesOf((await heard).subarray(READS_WELCOME.length))).toHaveLength(1);
    expect(proof.length).toBeGreaterThan(0);
    expect(member.arrivals).toEqual([]);
  },
);

test('a proof counts on the connection on which it was asked for, and as nothing else', async () => {
  const member = await start();
  const { greeting, proofFor } = byHand(member.address);
  let proof: Buffer = Buffer.alloc(0);
  let ofStream: Buffer = Buffer.alloc(0);
  // It is kept back here, and used on another connection, which says the same hello.
  stranger(member.port, greeting, (heard) => {
    proof = proofFor(heard);
    return Buffer.alloc(0);
  });
  await eventually('it is there', () => proof.length > 0);
  const elsewhere = await stranger(member.port, greeting, () => proof).heard;
  expect(framesOf(elsewhere.subarray(READS_WELCOME.length))).toHaveLength(1);
  const another = byHand(member.address);
  const asStream = await stranger(
    member.port,
    another.greeting,
    (heard) => (ofStream = another.proofFor(heard, administrationDefinition.Exchange.path)),
  ).heard;
  expect(ofStream.length).toBeGreaterThan(0);
  expect(framesOf(asStream.subarray(READS_WELCOME.length))).toHaveLength(1);
  expect(member.arrivals).toEqual([]);
});

test('a recorded proof of a connection opens no stream, and what was recorded of a stream proves no connection', () => {
  const [address, peer] = ['127.0.0.1:1', 'somebody'];
  const proof = new MemberProof({ secret: SECRET });
  const admitted: string[] = [];
  const admission = new MemberAdmission({
    proof,
    name: 'the-server',
    address: () => address,
    log: silentLogger,
    admitted: (from) => admitted.push(from),
  });
  const handshake = new MemberHandshake({ address, name: 'the-client', proof, log: silentLogger });
  const proofsOf = (path: string | null): { recorded: Metadata; nonce: Buffer } => {
    const { clientNonce, metadata } = handshake.hello();
    let heard = metadata;
    expect(admission.hello(metadata, peer, (answer) => (heard = answer))).toBeNull();
    const session = handshake.outcomeOf(heard, clientNonce);
    if (!('key' in session)) throw new Error(session.reason);
    return {
      recorded: path === null ? handshake.metadataForConnection(session) : handshake.metadataFor(session, path),
      nonce: bytesOf(heard, 'nonce')[0],
    };
  };
  const ofConnection = proofsOf(null);
  const { path } = administrationDefinition.Exchange;
  for (const asked of [CONNECTION_PATH, path, '/'])
    expect(admission.stream(ofConnection.recorded, asked, peer)).toMatchObject({ code: status.UNAUTHENTICATED });
  const ofStream = proofsOf(path);
  expect(admission.connection(ofStream.recorded, ofStream.nonce, peer)).toMatchObject({ code: status.UNAUTHENTICATED });
  expect(admitted).toEqual([]);
  expect([
    admission.stream(ofStream.recorded, path, peer),
    admission.connection(ofConnection.recorded, ofConnection.nonce, peer),
  ]).toEqual([null, null]);
});

test('whoever sends what has no place there is cut, and HTTP/2 does not begin', async () => {
  const member = await start();
  const { hello, greeting, proofFor } = byHand(member.address);
  const wrong = frameOf(
    FRAME_TYPES.stream,
    metadataToBytes(
      metadataOf({
        name: 'x',
        nonce: Buffer.alloc(16, 1),
        serverNonce: Buffer.alloc(40, 2),
        number: '1',
        proof: Buffer.alloc(32, 3),
      }),
    ),
  );
  const beginnings: Buffer[][] = [
    [Buffer.concat([PROOF_GREETING, beginning()])],
    [Buffer.concat([PROOF_GREETING, Buffer.alloc(3_000, 7)])],
    [Buffer.concat([PROOF_GREETING, Buffer.from('ffffffff00', 'hex')])],
    [Buffer.concat([PROOF_GREETING, frameOf(FRAME_TYPES.hello, Buffer.from('no JSON'))])],
    [Buffer.concat([PROOF_GREETING, frameOf(FRAME_TYPES.hello, Buffer.from('null'))])],
    [Buffer.concat([PROOF_GREETING, frameOf(FRAME_TYPES.hello, Buffer.from('{}'))])],
    [Buffer.concat([PROOF_GREETING, wrong])],
    [Buffer.concat([PROOF_GREETING, frameOf(FRAME_TYPES.message, Buffer.from('a'))])],
    [Buffer.concat([greeting, hello])],
    [Buffer.concat([greeting, wrong])],
    [greeting, wrong],
    [greeting, beginning()],
    [greeting, frameOf(FRAME_TYPES.ping, null)],
  ];
  for (const pieces of beginnings)
    expect(
      framesOf((await stranger(member.port, ...pieces).heard).subarray(READS_WELCOME.length)).length,
    ).toBeLessThanOrEqual(1);
  expect(member.arrivals).toEqual([]);
  // From a member, garbage ends its own connection.
  const { heard } = stranger(member.port, greeting, (answer) =>
    Buffer.concat([proofFor(answer), Buffer.alloc(3_000, 7)]),
  );
  await heard;
  expect(member.arrivals).toEqual(['proven']);
  expect(member.unproven()).toBe(0);
  expect(await open(channelTo(member.address))).toBe('ready');
});

test('what comes in pieces of any size is taken, and HTTP/2 loses nothing of what came with the proof', async () => {
  const member = await start();
  const { greeting, proofFor } = byHand(member.address);
  const { socket } = stranger(member.port);
  const chunks: Buffer[] = [];
  socket.setNoDelay(true).on('data', (chunk: Buffer) => chunks.push(chunk));
  const heard = (): Buffer => Buffer.concat(chunks);
  for (const byte of greeting) {
    socket.write(Buffer.of(byte));
    await new Promise((turn) => setImmediate(turn));
  }
  await eventually(
    'it has answered',
    () => heard().length > READS_WELCOME.length && framesOf(heard().subarray(READS_WELCOME.length)).length === 1,
  );
  const before = heard().length;
  const proof = Buffer.concat([proofFor(heard()), beginning()]);
  for (const piece of [proof.subarray(0, 7), proof.subarray(7, -20), proof.subarray(-20)]) {
    socket.write(piece);
    await new Promise((turn) => setImmediate(turn));
  }
  // Its settings, and that it has read these.
  await eventually('HTTP/2 answers', () =>
    heard().subarray(before).toString('latin1').includes('\0\0\0\u0004\u0001\0\0\0\0'),
  );
  expect(member.arrivals).toEqual(['proven']);
});

test('each that stands still is cut in time, wherever it does, and that of a member stays', async () => {
  const member = await start({ unproven: { withinMs: 2_000 } });
  const { greeting, proofFor } = byHand(member.address);
  const channel = channelTo(member.address);
  expect(await open(channel)).toBe('ready');
  const halves = [
    PROOF_GREETING.subarray(0, 9),
    PROOF_GREETING,
    greeting.subarray(0, PROOF_GREETING.length + 3),
    greeting.subarray(0, -1),
    greeting,
  ];
  const still = halves.map((half) => stranger(member.port, half));
  still.push(stranger(member.port, greeting, (heard) => proofFor(heard).subarray(0, -1)));
  await Promise.all(still.map(({ heard }) => heard));
  expect(await open(channel)).toBe('ready');
  expect(member.arrivals).toEqual(['proven']);
});

test('of too many from one address the oldest is cut at once, and members come in', async () => {
  const member = await start({ unproven: { withinMs: HOUR_MS, mostOfAddress: 20 } });
  const { greeting } = byHand(member.address);
  const many = [];
  for (let i = 0; i < 60; i += 1) {
    const one = stranger(member.port, i % 2 === 0 ? greeting : PROOF_GREETING);
    many.push(one);
    await new Promise((done) => one.socket.once('connect', done));
  }
  await Promise.all(many.slice(0, 40).map(({ heard }) => heard));
  await eventually('the others are known', () => member.unproven() === 20);
  expect(await open(channelTo(member.address))).toBe('ready');
  expect(member.unproven()).toBeLessThanOrEqual(20);
  expect(member.arrivals).toEqual(['proven']);
});

test('the answer to a hello keeps nothing of it, and is for the address that it names', async () => {
  const member = await start();
  const { sessions } = (member.server as unknown as { admission: { sessions: Map<string, unknown> } }).admission;
  const { greeting, proofFor } = byHand(member.address);
  const { socket } = stranger(member.port, greeting, (heard) => {
    expect(bytesOf(metadataFromBytes(framesOf(heard.subarray(READS_WELCOME.length))[0].content), 'proof')).toHaveLength(
      1,
    );
    return proofFor(heard);
  });
  await eventually('it is proven', () => member.arrivals.length > 0);
  expect([sessions.size, member.unproven()]).toEqual([0, 0]);
  socket.destroy();
});
