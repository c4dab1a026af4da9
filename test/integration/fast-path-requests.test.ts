import type { Socket } from 'node:net';
import { closeHttpServer } from '../../coordinator/api/http/http-server';
import { ApiClient, dataOf } from '../support/targets/api-client';
import { eventually } from '../support/eventually';
import { type PlainServer, startPlainServer } from '../support/servers/plain-server';
import { RawConnection } from '../support/http/raw-connection';

/** Requests that arrive whole, which are not read by Node's server: how they begin and end on its connections. */

const ANSWERED = /"status":.*}$/;
const FIRST = 'GET /v1/me HTTP/1.1\r\n\r\n';
/** More than the system takes for a client that reads nothing. */
const LARGE_BYTES = 64 * 1024 * 1024;

let target: PlainServer;
/** Requests that Node's server has read. */
let read = 0;
/** What searches wait for. */
let gate: Promise<void> = Promise.resolve();
let begun: () => void = () => undefined;

beforeEach(async () => {
  target = await startPlainServer(
    { API_METRICS: 'true' },
    { metricsText: async () => ({ contentType: 'text/plain', text: Buffer.alloc(LARGE_BYTES, 'x') }) },
  );
  dataOf(await new ApiClient(target).post('/v1/collections', { name: 'c', dim: 2 }));
  const search = target.service.search.search.bind(target.service.search);
  target.service.search.search = async (...given) => {
    begun();
    await gate;
    return search(...given);
  };
  gate = Promise.resolve();
  read = 0;
  target.server.on('request', () => (read += 1));
});
afterEach(() => target.stop());

function searchOf(k: number): { head: string; body: string } {
  const body = JSON.stringify({ vector: [1, 2], k });
  return {
    head: `POST /v1/collections/c/search HTTP/1.1\r\nx-api-key: ${target.adminKey}\r\ncontent-length: ${body.length}\r\n\r\n`,
    body,
  };
}

function whole(k: number): string {
  const { head, body } = searchOf(k);
  return head + body;
}

/** A connection whose first request the server has answered. */
async function open(): Promise<RawConnection> {
  const connection = await RawConnection.open(target);
  await connection.send(FIRST);
  await connection.until(ANSWERED);
  return connection;
}

/** Lets searches wait. Answers when one does, and what lets them go on. */
function held(): { isBegun: Promise<void>; letGo: () => void } {
  let letGo = (): void => undefined;
  gate = new Promise((resolve) => (letGo = resolve));
  return { isBegun: new Promise((resolve) => (begun = resolve)), letGo };
}

test('the first request of a connection is the server’s, those after it are not', async () => {
  const connection = await open();
  await connection.send(whole(3));
  await connection.until(/"k":3,/);
  await connection.send(whole(4));
  await connection.until(/"k":4,/);
  expect(read).toBe(1);
  connection.socket.destroy();
});

test('a body may come after its head', async () => {
  const connection = await open();
  const { head, body } = searchOf(3);
  for (const piece of [head, body.slice(0, 5), body.slice(5)]) {
    await connection.send(piece);
    await new Promise((next) => setImmediate(next));
  }
  await connection.until(/"k":3,/);
  expect(read).toBe(1);
  connection.socket.destroy();
});

test('one whose rest does not come is given to the server, which answers it when it comes', async () => {
  const connection = await open();
  const { head, body } = searchOf(3);
  const given = new Promise((resolve) => target.server.once('request', resolve));
  await connection.send(head);
  await given;
  await connection.send(body);
  await connection.until(/"k":3,/);
  expect(read).toBe(2);
  // It is known where that one ended.
  await connection.send(whole(4));
  await connection.until(/"k":4,/);
  expect(read).toBe(2);
  connection.socket.destroy();
});

test('after a large body, or a refused one, the next request is whole again', async () => {
  const connection = await open();
  const large = 'x'.repeat(100_000);
  await connection.send(
    `POST /v1/collections/c/search HTTP/1.1\r\nx-api-key: ${target.adminKey}\r\ncontent-length: ${large.length}\r\n\r\n${large}`,
  );
  await connection.until(/"code":422.*}$/);
  await connection.send(whole(3));
  await connection.until(/"k":3,/);
  expect(read).toBe(2);
  connection.socket.destroy();
});

test('what is sent ahead waits for its turn', async () => {
  const { isBegun, letGo } = held();
  const connection = await open();
  await connection.send(whole(3));
  await isBegun;
  await connection.send(whole(4));
  await connection.send(whole(5));
  letGo();
  const text = await connection.until(/"k":5,/);
  expect([...text.matchAll(/"k":(\d+),/g)].map(([, k]) => Number(k))).toEqual([3, 4, 5]);
  connection.socket.destroy();
});

test('a server that closes answers the request under way, and closes idle connections at once', async () => {
  const { isBegun, letGo } = held();
  const [busy, idle] = [await open(), await open()];
  await idle.send(whole(2));
  letGo();
  await idle.until(/"k":2,/);
  const again = held();
  await busy.send(whole(3));
  await Promise.all([isBegun, again.isBegun]);
  const closed = closeHttpServer(target.server, 60_000);
  await idle.closed();
  again.letGo();
  expect(await busy.closed()).toMatch(/Connection: close\r\n\r\n.*"k":3,/);
  await closed;
});

test('a connection on which nothing moves is not closed while its answer is made', async () => {
  const { isBegun, letGo } = held();
  const arrived = new Promise<Socket>((resolve) => target.server.once('connection', resolve));
  const connection = await open();
  const socket = await arrived;
  await connection.send(whole(3));
  await isBegun;
  socket.emit('timeout');
  letGo();
  await connection.until(/"k":3,/);
  socket.emit('timeout');
  await connection.closed();
});

/**
 * A connection with a large answer that has ended, of which the client reads nothing yet. As the first answer, it is
 * the server's own.
 */
async function openUnread(isFirst: boolean): Promise<RawConnection> {
  const arrived = new Promise<Socket & { _httpMessage?: { finished: boolean } }>((resolve) =>
    target.server.once('connection', resolve),
  );
  const connection = isFirst ? await RawConnection.open(target) : await open();
  const socket = await arrived;
  connection.socket.pause();
  await connection.send('GET /metrics HTTP/1.1\r\n\r\n');
  await eventually(
    'the answer has ended and waits for its client',
    () => socket._httpMessage?.finished === true && socket.writableLength > 0,
  );
  expect(read).toBe(1);
  return connection;
}

test.each([true, false])(
  'a connection whose answer is not sent yet is not idle, and is closed once it is; first answer: %s',
  async (isFirst) => {
    const connection = await openUnread(isFirst);
    target.server.closeIdleConnections();
    const closed = closeHttpServer(target.server, 60_000);
    connection.socket.resume();
    const text = await connection.closed();
    expect(text.length - text.lastIndexOf('\r\n\r\n') - 4).toBe(LARGE_BYTES);
    await closed;
  },
);

test.each([true, false])(
  'a client that does not read its answer holds a server up no longer than its grace; first answer: %s',
  async (isFirst) => {
    const connection = await openUnread(isFirst);
    await closeHttpServer(target.server, 1);
    connection.socket.destroy();
  },
);

test('a client that goes away leaves nothing behind', async () => {
  const { isBegun, letGo } = held();
  const connection = await open();
  await connection.send(whole(3));
  await isBegun;
  connection.socket.destroy();
  letGo();
  const other = await open();
  await other.send(whole(4));
  await other.until(/"k":4,/);
  other.socket.destroy();
});
