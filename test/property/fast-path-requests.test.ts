import type { Socket } from 'node:net';
import fc from 'fast-check';
import { FastPathRequests } from '../../coordinator/api/fast-path/fast-path-requests';
import { ApiClient, dataOf } from '../support/targets/api-client';
import { type PlainServer, startPlainServer } from '../support/servers/plain-server';
import { RawConnection } from '../support/http/raw-connection';

/**
 * Requests that arrive whole are read and answered without Node's server. The same bytes, cut in any way, must get the
 * same bytes as from that server, which reads everything at `plain`.
 */

const RUNS = 150;
/** Makes answers that are longer than one write. */
const LONG_TEXT = 'a'.repeat(40_000);

let quick: PlainServer;
let plain: PlainServer;
/** Requests that Node's server of `quick` has read. */
let read = 0;

beforeAll(async () => {
  quick = await startPlainServer();
  quick.server.on('request', () => (read += 1));
  plain = await startPlainServer({ API_KEY: quick.adminKey });
  const { watch } = FastPathRequests.prototype;
  jest.spyOn(FastPathRequests.prototype, 'watch').mockImplementation(function (this: FastPathRequests, socket) {
    const { server } = socket as Socket & { server: unknown };
    if (server === quick.server) watch.call(this, socket);
    // So the server reads in the same way: a body that came with its head has arrived when the request is looked at.
    else socket.on('data', () => undefined);
  });
  await Promise.all([quick, plain].map(fill));
});
afterAll(() => Promise.all([quick, plain].map((target) => target?.stop())));

async function fill(target: PlainServer): Promise<void> {
  const api = new ApiClient(target);
  dataOf(await api.post('/v1/collections', { name: 'c', dim: 2 }));
  for (const [i, text] of [LONG_TEXT, LONG_TEXT, 'é€😀', ''].entries()) {
    dataOf(await api.post('/v1/collections/c/upsert', { external_id: `ü${i}`, vector: [i, 1], metadata: { text } }));
  }
}

interface Sent {
  head: string[];
  body: string;
}

const body = (value: unknown): string => JSON.stringify(value);
const search = (more: object = {}): string => body({ vector: [1, 2], k: 3, ...more });

/** Requests as clients send them, and as they should not. `KEY` stands for the key. */
const requests = fc.oneof(
  fc.constantFrom<Sent>(
    { head: ['GET /v1/health HTTP/1.1', 'host: x'], body: '' },
    { head: ['GET /v1/me HTTP/1.1', 'X-Api-Key: KEY', 'Accept: */*'], body: '' },
    { head: ['GET /v1/collections/c/vectors/%C3%BC2 HTTP/1.1', 'x-api-key: KEY'], body: '' },
    { head: ['GET /v1/collections/c/export?limit=10 HTTP/1.1', 'x-api-key: KEY'], body: '' },
    { head: ['DELETE /v1/collections/none HTTP/1.1', 'x-api-key: KEY', 'content-length: 0'], body: '' },
    { head: ['HEAD /v1/health HTTP/1.1'], body: '' },
    { head: ['OPTIONS /v1/health HTTP/1.1'], body: '' },
    { head: ['GET /docs/ HTTP/1.1'], body: '' },
    { head: ['GET /nothing HTTP/1.1', 'x-request-id: of my own'], body: '' },
    { head: ['POST /v1/documents/upload HTTP/1.1', 'x-api-key: KEY', 'content-type: application/json'], body: '{}' },
    {
      head: ['POST /v1/collections/c/upsert HTTP/1.1', 'x-api-key: KEY'],
      body: body({ external_id: 'ü3', vector: [3, 1] }),
    },
  ),
  fc
    .record({
      path: fc.constantFrom(
        '/v1/collections/c/search',
        '/v1/collections/c/search?profile=false',
        '/v1/collections/none/search',
        '/v1/collections/c/se%61rch',
        'http://x/v1/collections/c/search',
      ),
      key: fc.constantFrom(
        'x-api-key: KEY',
        'X-API-Key:KEY',
        'x-api-key:  KEY \t',
        'x-api-key: KEY\r\nx-api-key: KEY',
        'x-api-key: wrong',
        'authorization: Bearer x',
        'x-api-key: \xff',
      ),
      more: fc.subarray(
        [
          'Accept-Encoding: gzip, br',
          'Connection: keep-alive',
          'Connection: Keep-Alive, x',
          'content-type: application/json',
          'x-request-id: 1-a',
          'cookie: a=b',
          'cookie: c=d',
          'te: trailers',
          'expect: 100-continue',
          'constructor: x',
          'x_y: z',
          'empty:',
          'user-agent: a\tb',
        ],
        { maxLength: 4 },
      ),
      encoding: fc.constantFrom('length', 'length', 'length', 'chunked', 'identity', 'gzip'),
      text: fc.oneof(
        fc.constantFrom(
          search(),
          search({ k: 1 }),
          search({ filters: { text: '' } }),
          search({ vector: [1] }),
          search({ vector: [1e39, 0] }),
          '{',
          '',
          '[1]',
          search({ warned: 1, filter: {} }),
        ),
        fc.string({ maxLength: 20 }),
      ),
    })
    .map(({ path, key, more, encoding, text }): Sent => {
      const head = [`POST ${path} HTTP/1.1`, key, ...more];
      if (encoding === 'chunked')
        return {
          head: [...head, 'transfer-encoding: chunked'],
          body: text === '' ? '0\r\n\r\n' : `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n0\r\n\r\n`,
        };
      return { head: encoding === 'length' ? head : [...head, `content-encoding: ${encoding}`], body: text };
    }),
);

function bytesOf({ head, body: text }: Sent): Buffer {
  const hasLength = head.some((line) => /^(transfer-encoding|content-length)/.test(line)) || text === '';
  const lines = [...head, ...(hasLength ? [] : [`content-length: ${Buffer.byteLength(text)}`])];
  return Buffer.concat([
    Buffer.from(`${lines.join('\r\n')}\r\n\r\n`.replaceAll('KEY', quick.adminKey), 'latin1'),
    Buffer.from(text),
  ]);
}

/** The pieces of what is sent, cut at places given as parts of it. */
function cut(bytes: Buffer, places: number[]): Buffer[] {
  const at = [0, ...places.map((place) => Math.floor(place * bytes.length)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end));
}

const FIRST = 'GET /v1/health HTTP/1.1\r\n\r\n';
const LAST = 'GET /v1/health HTTP/1.1\r\nconnection: close\r\n\r\n';

/** All that comes back, without what differs from time to time. */
async function answers(target: PlainServer, pieces: Buffer[], until?: RegExp): Promise<string> {
  const connection = await RawConnection.open(target);
  connection.socket.setNoDelay(true);
  // A connection's first request is the server's.
  await connection.send(FIRST);
  await connection.until(/"status":.*}$/);
  for (const piece of pieces) {
    await connection.send(piece);
    // Most pieces are read one by one so; it must make no difference.
    await new Promise((next) => setImmediate(next));
  }
  if (until !== undefined) await connection.until(until);
  await connection.send(LAST);
  return (await connection.closed())
    .replaceAll(/x-request-id: [0-9a-f]{8}-[0-9a-f-]{27}/g, 'x-request-id: *')
    .replaceAll(/Date: [^\r]*/g, 'Date: *')
    .replaceAll(/"version":\d+/g, '"version":*')
    .replaceAll(/"uptime[a-z_]*":[\d.]+/g, '"uptime":*');
}

/** `until`: what is waited for before the last request is sent. */
async function expectSame(pieces: Buffer[], until?: RegExp): Promise<void> {
  const [mine, nodes] = await Promise.all([quick, plain].map((target) => answers(target, pieces, until)));
  expect(mine).toBe(nodes);
}

const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 3 });

/** How many requests were answered without Node's server. */
async function answeredWhole(work: () => Promise<void>): Promise<number> {
  const before = { answered: quick.answered.length, read };
  await work();
  return quick.answered.length - before.answered - (read - before.read);
}

test('a request gets the same answer as from Node’s server', async () => {
  const whole = await answeredWhole(() =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(requests, places), { minLength: 1, maxLength: 5 }), async (sent) => {
        await expectSame([...sent.flatMap(([request, at]) => cut(bytesOf(request), at))]);
      }),
      { numRuns: RUNS },
    ),
  );
  // How many it is depends on which pieces arrive together.
  expect(whole).toBeGreaterThan(0);
});

test('so do requests that come in one piece with others', async () => {
  const plainOnes = requests.filter(
    ({ head }) => /^(GET|POST) /.test(head[0]) && !head.some((line) => /expect|\xff|: x$|^x-api-key: KEY\r/.test(line)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(plainOnes, { minLength: 2, maxLength: 6 }), places, async (sent, at) => {
      await expectSame([...cut(Buffer.concat(sent.map(bytesOf)), at)]);
    }),
    { numRuns: RUNS },
  );
});

test('a long answer is the same', async () => {
  const whole = await answeredWhole(() =>
    expectSame(
      [bytesOf({ head: ['POST /v1/collections/c/search HTTP/1.1', 'x-api-key: KEY'], body: search({ k: 4 }) })],
      /"offset":0}.*\r\n0\r\n\r\n$/,
    ),
  );
  expect(whole).toBe(1);
});
