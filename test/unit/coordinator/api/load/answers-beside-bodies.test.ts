import { connect, type Socket } from 'node:net';
import { AnswerMemory } from '../../../../../coordinator/api/load/answer-memory';
import { eventually } from '../../../../support/eventually';
import { type PlainServer, startPlainServer } from '../../../../support/servers/plain-server';

/** Answers that are given while the body of their request is still to come. */

const MIB = 1024 * 1024;
/** More than the system holds for a connection. */
const ANSWER = 'x'.repeat(32 * MIB);
const memory = new AnswerMemory({ bytesMax: 1024 * MIB, metadataBytesMax: 100, textBytesMax: 100 });

let server: PlainServer;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.stop();
});

/** Asks for a long answer, sends no body, and takes nothing. */
async function ask(environment: Record<string, string>): Promise<Socket> {
  server = await startPlainServer(environment, {
    answerMemory: memory,
    metricsText: async () => ({ contentType: 'text/plain', text: ANSWER }),
  });
  const socket = connect(Number(new URL(server.baseUrl).port), '127.0.0.1');
  sockets.push(socket);
  const arrived = new Promise((done) => server.server.once('connection', done));
  socket.on('error', () => undefined);
  socket.pause();
  socket.write('GET /metrics HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n');
  await arrived;
  return socket;
}

test('what the client has not taken is counted', async () => {
  const socket = await ask({});
  await eventually('it is counted', () => memory.bytes > MIB);
  socket.destroy();
  await eventually('it is given back', () => memory.bytes === 0);
});

test('whoever takes nothing is cut', async () => {
  await ask({ STALL_TIMEOUT_MS: '100' });
  const connections = (): Promise<number> =>
    new Promise((done, fail) => server.server.getConnections((error, count) => (error ? fail(error) : done(count))));
  await eventually('the connection is cut', async () => (await connections()) === 0);
});

test('whoever has taken all may send its body as slowly as ever', async () => {
  server = await startPlainServer({ STALL_TIMEOUT_MS: '100' }, { answerMemory: memory });
  const socket = connect(Number(new URL(server.baseUrl).port), '127.0.0.1');
  sockets.push(socket);
  let text = '';
  const ended = new Promise((done) => socket.on('end', done));
  socket.on('error', () => undefined).on('data', (piece) => (text += String(piece)));
  socket.write('POST /nowhere HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n');
  await eventually('the answer is there', () => text.includes('there is no POST /nowhere'));
  // Several times as long as an answer may stand still.
  await new Promise((wake) => setTimeout(wake, 500));
  expect(socket.readableEnded).toBe(false);
  socket.write('0\r\n\r\n');
  await ended;
});
