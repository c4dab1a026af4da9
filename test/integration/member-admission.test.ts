import http2 from 'node:http2';
import { connect, createServer, type Server as NetServer, type Socket } from 'node:net';
import {
  ChannelCredentials,
  Client,
  connectivityState,
  Metadata,
  Server,
  ServerCredentials,
  status,
} from '@grpc/grpc-js';
import {
  administrationDefinition,
  type AdministrationRequest,
  type WireReport,
} from '../../shared/wire/administration';
import { FIELDS, membersDefinition, metadataOf } from '../../shared/wire/handshake/handshake-metadata';
import { silentLogger } from '../../shared/base/logs/logger';
import { MemberAdmission } from '../../shared/wire/handshake/member-admission';
import { OWN_VERSION } from '../../shared/base/process/member-version';
import { RpcServer } from '../../shared/wire/streams/rpc-server';
import { admitStreams } from '../../shared/wire/streams/stream-admission';
import { RpcChannel, type RpcStream, type StreamEnd } from '../../shared/wire/streams/rpc-channel';
import { MemberProof } from '../../shared/base/secret/member-proof';
import { eventually } from '../support/eventually';
import { freePorts } from '../support/servers/free-ports';
import { PLAIN, provenMetadata, SECRET } from '../support/cluster/rpc-node';

/** What a server answers to those who knock, as they see it. */

const { Exchange } = administrationDefinition;
const { Hello } = membersDefinition;
const NONCE = Buffer.alloc(16, 1);
const HOUR_MS = 3_600_000;

let nowMs: number;
let warnings: string[];
let server: Server;
/** Hands connections on to the server, so that they can be cut. */
let listener: NetServer;
let sockets: Socket[];
let address: string;
let client: Client;

beforeEach(async () => {
  nowMs = 0;
  warnings = [];
  const log = { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) };
  const admission = new MemberAdmission({
    proof: new MemberProof({ secret: SECRET }),
    name: 'two',
    address: () => address,
    log,
    nowMs: () => nowMs,
  });
  server = new Server();
  admitStreams(server, { admission, log });
  server.addService(administrationDefinition, {
    Exchange: (call: { sendMetadata: (metadata: Metadata) => void; end: () => void }) => {
      call.sendMetadata(new Metadata());
      call.end();
    },
  });
  const port = await new Promise<number>((done, fail) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? fail(error) : done(bound),
    ),
  );
  sockets = [];
  listener = createServer((socket) => {
    const onward = connect(port, '127.0.0.1');
    sockets.push(socket, onward);
    for (const each of [socket, onward]) each.on('error', () => undefined);
    socket.pipe(onward).pipe(socket);
  });
  // Somebody else is to listen there after it.
  const [way] = await freePorts(1);
  await new Promise<void>((done) => listener.listen(way, '127.0.0.1', done));
  address = `127.0.0.1:${way}`;
  client = new Client(address, ChannelCredentials.createInsecure());
});
afterEach(() => {
  client.close();
  for (const socket of sockets) socket.destroy();
  listener.close();
  server.forceShutdown();
});

function call(method: typeof Exchange | typeof Hello, metadata: Metadata): Promise<{ code: status; details: string }> {
  return new Promise((done) => {
    const stream = client.makeBidiStreamRequest(
      method.path,
      method.requestSerialize as never,
      method.responseDeserialize as never,
      metadata,
    );
    stream.on('data', () => undefined);
    stream.on('error', () => undefined);
    stream.on('status', done);
    stream.end();
  });
}

const open = (metadata: Metadata) => call(Exchange, metadata);

test('a session opens streams for an hour, and by then a new one is made as easily', async () => {
  const [first, second] = [
    await provenMetadata(client, address, Exchange.path),
    await provenMetadata(client, address, Exchange.path),
  ];
  expect(await open(first)).toMatchObject({ code: status.OK });
  nowMs = HOUR_MS + 1;
  expect(await open(second)).toMatchObject({ code: status.UNAUTHENTICATED, details: 'the session is over' });
  expect(await open(await provenMetadata(client, address, Exchange.path))).toMatchObject({ code: status.OK });
});

test.each<[string, Metadata, Partial<Record<'code' | 'details', unknown>>]>([
  [
    'for another address',
    metadataOf({ version: '1', name: 'one', address: 'elsewhere:7100', nonce: NONCE }),
    { code: status.FAILED_PRECONDITION, details: 'this member has another address' },
  ],
  ['without a nonce', metadataOf({ version: '1', name: 'one' }), { code: status.INVALID_ARGUMENT }],
  [
    'with a short nonce',
    metadataOf({ version: '1', name: 'one', nonce: NONCE.subarray(1) }),
    { code: status.INVALID_ARGUMENT },
  ],
  [
    'of another version',
    metadataOf({ version: '2', name: 'one', nonce: NONCE }),
    { code: status.FAILED_PRECONDITION, details: 'a handshake of another version' },
  ],
])('a hello %s gets no proof', async (_what, metadata, expected) => {
  let answer: Metadata | null = null;
  const ended = new Promise((done) => {
    const stream = client.makeBidiStreamRequest(
      Hello.path,
      Hello.requestSerialize,
      Hello.responseDeserialize,
      metadata,
    );
    stream.on('metadata', (given: Metadata) => (answer = given));
    stream.on('data', () => undefined);
    stream.on('error', () => undefined);
    stream.on('status', done);
    stream.end();
  });
  expect(await ended).toMatchObject(expected);
  expect((answer as Metadata | null)?.get(FIELDS.proof) ?? []).toEqual([]);
});

test('what strangers do is logged, and not as often as they do it', async () => {
  for (let i = 0; i < 5; i += 1)
    expect(await open(metadataOf({ name: 'stranger' }))).toMatchObject({ code: status.UNAUTHENTICATED });
  expect(warnings).toEqual([expect.stringContaining('did not prove that it knows the cluster secret')]);
  nowMs += 10_000;
  await open(metadataOf({ name: 'stranger' }));
  expect(warnings).toHaveLength(2);
});

test('who answers at the address after the connection was lost has to prove itself before it is sent anything', async () => {
  const channel = new RpcChannel({ address, credentials: PLAIN });
  const lost = new Promise((ended) =>
    channel.open(Exchange, { ready: () => undefined, frame: () => undefined, ended }),
  );
  expect(await lost).toMatchObject({ isRefused: false });
  const { port } = new URL(`http://${address}`);
  for (const socket of sockets) socket.destroy();
  await new Promise((done) => listener.close(done));
  const impostor = http2.createServer();
  const paths: string[] = [];
  impostor.on('stream', (stream, headers) => {
    paths.push(String(headers[':path']));
    stream.on('error', () => undefined);
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
  });
  await new Promise<void>((done) => impostor.listen(Number(port), '127.0.0.1', done));
  const { connection: ofChannel } = (channel as unknown as { session: { connection: Client } }).session;
  await eventually(
    'the loss is known',
    () => ofChannel.getChannel().getConnectivityState(false) !== connectivityState.READY,
  );
  const streams: RpcStream<AdministrationRequest>[] = [];
  await eventually('it was met', () => {
    const stream = channel.open<AdministrationRequest, WireReport>(Exchange as never, {
      ready: () => undefined,
      frame: () => undefined,
      ended: () => undefined,
    });
    stream.write({ id: 1, probe: true, digestOf: null }, () => undefined);
    streams.push(stream);
    return paths.length > 0;
  });
  expect(new Set(paths)).toEqual(new Set([Hello.path]));
  for (const stream of streams) stream.cancel();
  channel.close();
  impostor.close();
});

test('a channel that is closed while a handshake is under way ends its streams, and opens none', async () => {
  for (let turns = 0; turns < 12; turns += 1) {
    const channel = new RpcChannel({ address, credentials: PLAIN });
    const ends: StreamEnd[] = [];
    const stream = channel.open(Exchange, {
      ready: () => undefined,
      frame: () => undefined,
      ended: (end) => ends.push(end),
    });
    for (let turn = 0; turn < turns; turn += 1) await new Promise((next) => setImmediate(next));
    stream.cancel();
    channel.close();
    await eventually('the stream is over', () => ends.length > 0);
    const late: StreamEnd[] = [];
    channel.open(Exchange, { ready: () => undefined, frame: () => undefined, ended: (end) => late.push(end) });
    await eventually('a late one is over, too', () => late.length > 0);
    expect([ends.length, late]).toEqual([1, [{ isRefused: false, reason: 'the channel is closed' }]]);
  }
});

test.each([
  ['a client that is too old', { protocol: 1, oldest: 1, features: [] }, { protocol: 4, oldest: 3, features: [] }],
  ['a server that is too old', { protocol: 5, oldest: 4, features: [] }, { protocol: 2, oldest: 1, features: [] }],
])('%s: no stream, and both logs name both versions', async (_, ofClient, ofServer) => {
  const told: string[] = [];
  const log = (who: string) => ({
    ...silentLogger,
    error: (_fields: object, message: string) => void told.push(`${who}: ${message}`),
  });
  const [port] = await freePorts(1);
  const at = `127.0.0.1:${port}`;
  const other = new RpcServer({ ...PLAIN, name: 'server', version: ofServer, log: log('server'), services: [] });
  await other.listen(at);
  const channel = new RpcChannel({
    address: at,
    credentials: { ...PLAIN, name: 'client', version: ofClient, log: log('client') },
  });
  const ended = await new Promise<StreamEnd>((done) =>
    channel.open(Exchange, { ready: () => undefined, frame: () => undefined, ended: done }),
  );
  expect(ended).toMatchObject({ isRefused: false, reason: expect.stringContaining('too far apart') });
  expect(told.map((line) => line.split(' ', 1)[0]).sort()).toEqual(['client:', 'server:']);
  for (const line of told)
    for (const { protocol } of [ofClient, ofServer]) expect(line).toContain(`protocol ${protocol} `);
  channel.close();
  await other.close(0);
});

test('a refusal that says no version is not one because of versions', async () => {
  const [port] = await freePorts(1);
  const other = new RpcServer({ ...PLAIN, services: [] });
  await other.listen(`127.0.0.1:${port}`);
  const version = { protocol: 4, oldest: 3, features: [] };
  const channel = new RpcChannel({ address: `localhost:${port}`, credentials: { ...PLAIN, version } });
  const ended = await new Promise<StreamEnd>((done) =>
    channel.open(Exchange, { ready: () => undefined, frame: () => undefined, ended: done }),
  );
  expect(ended).toMatchObject({ isRefused: false, reason: expect.stringContaining('this member has another address') });
  channel.close();
  await other.close(0);
});

test('a stream knows the version of the program at its other end', async () => {
  const channel = new RpcChannel({ address, credentials: PLAIN });
  const version = await new Promise((ready) =>
    channel.open(Exchange, { ready, frame: () => undefined, ended: () => undefined }),
  );
  expect(version).toEqual(OWN_VERSION);
  channel.close();
});
