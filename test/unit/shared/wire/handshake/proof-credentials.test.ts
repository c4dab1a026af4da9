import { Client } from '@grpc/grpc-js';
import { PassThrough } from 'node:stream';
import net, { createServer, type AddressInfo, type Socket } from 'node:net';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { MemberHandshake } from '../../../../../shared/wire/handshake/member-handshake';
import { ProofCredentials } from '../../../../../shared/wire/handshake/proof-credentials';
import { PROOF_GREETING, READS_WELCOME } from '../../../../../shared/wire/frames/reads-greeting';
import { MemberProof } from '../../../../../shared/base/secret/member-proof';

function credentialsFor(
  address: string,
  options: { withinMs?: number | undefined; nowMs?: () => number } = {},
): ProofCredentials {
  const handshake = new MemberHandshake({
    address,
    name: 'a',
    proof: new MemberProof({ secret: 'sixteen letters!' }),
    log: silentLogger,
  });
  return new ProofCredentials({ handshake, ...options });
}

/**
 * What a client does when the first connection is answered so, and each other one not at all. Answers how it began the
 * first two.
 */
async function beginnings(answer: Buffer | 'end', withinMs?: number): Promise<string[]> {
  const begun: string[] = [];
  const sockets: Socket[] = [];
  let made: () => void;
  const all = new Promise<void>((done) => (made = done));
  const server = createServer((socket) => {
    const isFirst = sockets.push(socket) === 1;
    socket.on('error', () => undefined);
    socket.once('data', (bytes) => {
      begun.push(bytes.subarray(0, PROOF_GREETING.length).toString());
      if (begun.length === 2) made();
      if (!isFirst) return;
      if (answer === 'end') socket.end();
      else socket.write(answer);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new Client(address, credentialsFor(address, { withinMs }));
  client.getChannel().getConnectivityState(true);
  await all;
  client.close();
  for (const socket of sockets) socket.destroy();
  server.close();
  return begun;
}

afterEach(() => jest.restoreAllMocks());

const GREETING = PROOF_GREETING.toString();
const HTTP2 = 'PRI * HTTP/2.0\r\n';

test.each<[string, Buffer | 'end']>([
  ['ends', 'end'],
  ['speaks HTTP/2 at once', Buffer.from('000006040000000000000400000100', 'hex')],
  ['says what is no proof', Buffer.concat([READS_WELCOME, Buffer.from([2, 0, 0, 0, 1, 123, 125])])],
  ['asks for something else', Buffer.concat([READS_WELCOME, Buffer.from([0, 0, 0, 0, 6])])],
  ['begins a frame without bounds', Buffer.concat([READS_WELCOME, Buffer.alloc(5, 255)])],
])('where the other end %s, HTTP/2 begins at once on another connection', async (_, answer) => {
  expect(await beginnings(answer)).toEqual([GREETING, HTTP2]);
});

test.each<[string, Buffer]>([
  ['nothing', Buffer.alloc(0)],
  ['half a welcome', READS_WELCOME.subarray(0, 5)],
  ['the welcome alone', READS_WELCOME],
])(
  'where the other end says %s, the connection is closed in time, and the next one begins like it',
  async (_, answer) => {
    expect(await beginnings(answer, 100)).toEqual([GREETING, GREETING]);
  },
);

test('a connection that takes the place of one with a proof is given up in time where nobody takes it', async () => {
  const unanswered = new net.Socket();
  jest.spyOn(net, 'connect').mockReturnValue(unanswered);
  const socket = Object.assign(new PassThrough(), { remoteAddress: '127.0.0.1', remotePort: 1 });
  socket.write = () => {
    process.nextTick(() => socket.emit('close'));
    return true;
  };
  const connector = credentialsFor('a:1', { withinMs: 100 })._createSecureConnector({ path: 'a:1' }, {});
  await expect(connector.connect(socket as unknown as Socket)).rejects.toThrow('nobody took the connection in time');
  expect(unanswered.destroyed).toBe(true);
});

test('a connection that did not begin with a proof is made anew, a few times in a while', () => {
  let nowMs = 0;
  const credentials = credentialsFor('a:1', { nowMs: () => nowMs });
  for (let i = 0; i < 3; i += 1) expect(credentials.isBetterAnew()).toBe(true);
  expect(credentials.isBetterAnew()).toBe(false);
  nowMs = 59_999;
  expect(credentials.isBetterAnew()).toBe(false);
  nowMs = 60_000;
  for (let i = 0; i < 3; i += 1) expect(credentials.isBetterAnew()).toBe(true);
  expect(credentials.isBetterAnew()).toBe(false);
});
