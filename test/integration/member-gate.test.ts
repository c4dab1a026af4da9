import { ChannelCredentials, Client, type Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { administrationDefinition } from '../../shared/rpc/administration';
import { FIELDS, membersDefinition, metadataOf } from '../../shared/rpc/handshake-metadata';
import { silentLogger } from '../../shared/logs/logger';
import { MemberGate } from '../../shared/rpc/member-gate';
import { MemberProof } from '../../shared/secret/member-proof';
import { provenMetadata, SECRET } from '../support/rpc-node';

/** What a server answers to those who knock, as they see it. */

const { Exchange } = administrationDefinition;
const { Hello } = membersDefinition;
const NONCE = Buffer.alloc(16, 1);
const HOUR_MS = 3_600_000;

let nowMs: number;
let warnings: string[];
let server: Server;
let address: string;
let client: Client;

beforeEach(async () => {
  nowMs = 0;
  warnings = [];
  const log = { ...silentLogger, error: (_fields: object, message: string) => void warnings.push(message) };
  const gate = new MemberGate({ proof: new MemberProof({ secret: SECRET }), name: 'two', address: () => address, log, nowMs: () => nowMs });
  server = new Server({ interceptors: [gate.interceptor] });
  server.addService(membersDefinition, { Hello: () => undefined });
  server.addService(administrationDefinition, { Exchange: (call: { end: () => void }) => call.end() });
  address = `127.0.0.1:${await new Promise((done, fail) => server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => (error ? fail(error) : done(port))))}`;
  client = new Client(address, ChannelCredentials.createInsecure());
});
afterEach(() => {
  client.close();
  server.forceShutdown();
});

function call(method: typeof Exchange | typeof Hello, metadata: Metadata): Promise<{ code: status; details: string }> {
  return new Promise((done) => {
    const stream = client.makeBidiStreamRequest(method.path, method.requestSerialize as never, method.responseDeserialize as never, metadata);
    stream.on('data', () => undefined);
    stream.on('error', () => undefined);
    stream.on('status', done);
    stream.end();
  });
}

const open = (metadata: Metadata) => call(Exchange, metadata);

test('a session opens streams for an hour, and by then a new one is made as easily', async () => {
  const [first, second] = [await provenMetadata(client, address, Exchange.path), await provenMetadata(client, address, Exchange.path)];
  expect(await open(first)).toMatchObject({ code: status.OK });
  nowMs = HOUR_MS + 1;
  expect(await open(second)).toMatchObject({ code: status.UNAUTHENTICATED, details: 'the session is over' });
  expect(await open(await provenMetadata(client, address, Exchange.path))).toMatchObject({ code: status.OK });
});

test.each<[string, Metadata, Partial<Record<'code' | 'details', unknown>>]>([
  ['for another address', metadataOf({ version: '1', name: 'one', address: 'elsewhere:7100', nonce: NONCE }), { code: status.FAILED_PRECONDITION, details: 'this member has another address' }],
  ['without a nonce', metadataOf({ version: '1', name: 'one' }), { code: status.INVALID_ARGUMENT }],
  ['with a short nonce', metadataOf({ version: '1', name: 'one', nonce: NONCE.subarray(1) }), { code: status.INVALID_ARGUMENT }],
  ['of another version', metadataOf({ version: '2', name: 'one', nonce: NONCE }), { code: status.FAILED_PRECONDITION, details: 'a handshake of another version' }],
])('a hello %s gets no proof', async (_what, metadata, expected) => {
  let answer: Metadata | null = null;
  const ended = new Promise((done) => {
    const stream = client.makeBidiStreamRequest(Hello.path, Hello.requestSerialize, Hello.responseDeserialize, metadata);
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
  for (let i = 0; i < 5; i += 1) expect(await open(metadataOf({ name: 'stranger' }))).toMatchObject({ code: status.UNAUTHENTICATED });
  expect(warnings).toEqual([expect.stringContaining('did not prove that it knows the cluster secret')]);
  nowMs += 10_000;
  await open(metadataOf({ name: 'stranger' }));
  expect(warnings).toHaveLength(2);
});
