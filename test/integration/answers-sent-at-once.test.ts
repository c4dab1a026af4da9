import type { Socket } from 'node:net';
import { utf8HitsOf } from '../../shared/wire/codecs/hit-codec';
import { ApiClient, dataOf } from '../support/targets/api-client';
import { eventually } from '../support/eventually';
import { type PlainServer, startPlainServer } from '../support/servers/plain-server';
import { RawConnection } from '../support/http/raw-connection';

/**
 * Answers with hits as bytes, which are given to the system past the stream of their connection: also where it does not
 * take them.
 */

const FIRST = 'GET /v1/me HTTP/1.1\r\n\r\n';
/** Together more than the system takes of a client that reads nothing; but fewer than may wait on one connection. */
const ASKED = 250;
const METADATA_CHARACTERS = 60_000;

let target: PlainServer;
let served: Socket | undefined;

beforeEach(async () => {
  target = await startPlainServer();
  dataOf(await new ApiClient(target).post('/v1/collections', { name: 'c', dim: 2 }));
  target.server.on('connection', (socket: Socket) => (served = socket));
});
afterEach(() => target.stop());

/** Lets search number i answer one hit, whose id and metadata say i. */
function answerPacked(metadataOf: (i: number) => string): void {
  let i = 0;
  target.service.search.search = () => {
    const [id, metadata] = [`hit "${i}"\n`, metadataOf(i)];
    i += 1;
    const both = Buffer.from(id + metadata);
    const items = {
      textBytesOf: () => both.length,
      idBytesOf: () => Buffer.byteLength(id),
      copyText: (_: number, into: Buffer, at: number) => both.copy(into, at),
    };
    const utf8Hits = utf8HitsOf(items, { slots: [0], scores: [0.5], count: 1 }, 1)!;
    return { hits: [], utf8Hits, totalCount: 7, timing: { embeddingMs: 0, searchMs: 0, totalMs: 0 } };
  };
}

function searchOf(warned = false): string {
  const body = JSON.stringify({ vector: [1, 2], k: 1, ...(warned && { filter: {} }) });
  return `POST /v1/collections/c/search HTTP/1.1\r\nx-api-key: ${target.adminKey}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

/** Bodies of the answers in a text of whole ones. */
function bodiesOf(text: string): unknown[] {
  const bodies: unknown[] = [];
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\r\n\r\n', at) + 4;
    const length = Number(/content-length: (\d+)/i.exec(text.slice(at, end))![1]);
    bodies.push(JSON.parse(text.slice(end, end + length)));
    at = end + length;
  }
  return bodies;
}

function answerOf(i: number, metadata: object): unknown {
  const results = [{ external_id: `hit "${i}"\n`, score: 0.5, metadata }];
  return expect.objectContaining({
    status: 'success',
    data: { results, total_count: 7, k: 1, offset: 0 },
    error: null,
  });
}

test('answers are whole and in their order when the client does not read for a while', async () => {
  answerPacked((i) => JSON.stringify({ i, text: 'x'.repeat(METADATA_CHARACTERS) }));
  const connection = await RawConnection.open(target);
  await connection.send(FIRST);
  await connection.until(/"status":.*}$/);
  const before = connection.text.length;
  connection.socket.pause();
  connection.socket.setNoDelay(true);
  for (let i = 0; i < ASKED; i++) {
    // One after the other, as long as answers are taken; then all the rest, which has to wait.
    await connection.send(searchOf());
    await new Promise((next) => setImmediate(next));
  }
  // The system has taken a part of an answer, and the rest waits in the stream.
  await eventually('a part of an answer waits', () => (served?.writableLength ?? 0) > 0);
  target.server.closeIdleConnections();
  connection.socket.resume();
  const last = `hit \\"${ASKED - 1}\\"`;
  await eventually(
    'all answers are there',
    () =>
      connection.text.endsWith('"error":null}') &&
      connection.text.lastIndexOf(last) > connection.text.length - 2 * METADATA_CHARACTERS,
  );
  const bodies = bodiesOf(connection.text.slice(before));
  expect(bodies).toHaveLength(ASKED);
  bodies.forEach((body, i) => expect(body).toEqual(answerOf(i, { i, text: 'x'.repeat(METADATA_CHARACTERS) })));
});

test('texts of all kinds arrive, also over connections that Node’s server reads, and with warnings', async () => {
  const metadata = { größe: 'Ελλάδα', emoji: '🦊', control: '\u0001"\\' };
  answerPacked(() => JSON.stringify(metadata));
  const connection = await RawConnection.open(target);
  // The first request of a connection is the server's; those after it are not.
  for (let i = 0; i < 3; i++) {
    const before = connection.text.length;
    await connection.send(searchOf(i === 2));
    await connection.until(new RegExp(`^[^]{${before}}[^]*\\r\\n\\r\\n.*}$`));
    const [, head, body] = /^([^]*?)\r\n\r\n(.*)$/.exec(connection.text.slice(before))!;
    expect(Number(/content-length: (\d+)/i.exec(head)![1])).toBe(Buffer.byteLength(body));
    expect(JSON.parse(body)).toEqual(answerOf(i, metadata));
    expect(JSON.parse(body).warnings !== undefined).toBe(i === 2);
  }
  expect(target.answered.slice(-3).map(({ code, endpoint }) => ({ code, endpoint }))).toEqual(
    Array(3).fill({ code: 200, endpoint: '/v1/collections/{name}/search' }),
  );
});

test('an answer that has no room there is made in the usual way', async () => {
  answerPacked((i) => JSON.stringify({ i, text: 'x'.repeat(100_000) }));
  const client = new ApiClient(target);
  for (let i = 0; i < 2; i++)
    expect((await client.post('/v1/collections/c/search', { vector: [1, 2], k: 1 })).json).toEqual(
      answerOf(i, { i, text: 'x'.repeat(100_000) }),
    );
});

test('a client that is gone costs nothing but its answer', async () => {
  answerPacked((i) => JSON.stringify({ i }));
  const connection = await RawConnection.open(target);
  await connection.send(FIRST);
  await connection.until(/"status":.*}$/);
  const gone = target.service.search.search;
  target.service.search.search = (...given) => {
    served!.destroy();
    return gone(...given);
  };
  await connection.send(searchOf());
  await connection.closed();
  target.service.search.search = gone;
  const next = await RawConnection.open(target);
  await next.send(searchOf());
  await next.until(/hit \\"1\\"/);
});
