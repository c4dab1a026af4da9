import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { HTTP_THREAD_STATE } from '../../coordinator/api/threads/http-thread-state';
import type { HttpThreads } from '../../coordinator/api/threads/http-threads';
import { ApiClient } from '../support/targets/api-client';
import { CertificateAuthority } from '../support/cluster/certificate-authority';
import { eventually } from '../support/eventually';
import { RawConnection } from '../support/http/raw-connection';
import { startThreadedServer, type ThreadedServer } from '../support/servers/threaded-server';

/**
 * HTTP threads as real worker threads: what one of them does to the others, and what all of them must know at once.
 */

let server: ThreadedServer;
const agents: Agent[] = [];

afterEach(async () => {
  for (const agent of agents.splice(0)) agent.destroy();
  await server.stop();
});

/** A client with a connection of its own, which it keeps. Answers the envelope; rejects when the connection breaks. */
function client(key = server.adminKey): (method: string, path: string, body?: unknown) => Promise<any> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agents.push(agent);
  return (method, path, body) =>
    new Promise((done, fail) => {
      const sent = request(
        server.baseUrl + path,
        { method, agent, headers: { 'x-api-key': key, 'content-type': 'application/json' } },
        (answer) => {
          const pieces: Buffer[] = [];
          answer.on('data', (piece: Buffer) => pieces.push(piece));
          answer.on('error', fail);
          answer.on('end', () => done(JSON.parse(Buffer.concat(pieces).toString())));
        },
      );
      sent.on('error', fail);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
}

const SEARCH = ['POST', '/v1/collections/c/search', { vector: [1, 2], k: 1 }] as const;

/** When the main thread's event loop turned last, as each thread sees it. */
function mainBeats(threads: HttpThreads): number[] {
  const { running } = (threads as unknown as { threads: { running: { state: Int32Array }[] } }).threads;
  return running.map(({ state }) => Atomics.load(state, HTTP_THREAD_STATE.mainBeat));
}

async function withCollection(): Promise<void> {
  const call = client();
  expect((await call('POST', '/v1/collections', { name: 'c', dim: 2 })).status).toBe('success');
  expect(
    (await call('POST', '/v1/collections/c/upsert', { external_id: 'a', vector: [1, 2], metadata: { n: 1 } })).data,
  ).toEqual({
    external_id: 'a',
    status: 'inserted',
    version: expect.any(Number),
  });
}

test('the connections are dealt evenly, and every thread serves', async () => {
  server = await startThreadedServer({ HTTP_THREADS: '3' });
  await withCollection();
  for (const agent of agents.splice(0)) agent.destroy();
  await eventually('the first connection is gone', () => server.threads.connections.every((count) => count === 0));
  const clients = Array.from({ length: 9 }, () => client());
  for (const call of clients)
    expect((await call(...SEARCH)).data.results).toEqual([
      { external_id: 'a', score: expect.closeTo(1), metadata: { n: 1 } },
    ]);
  expect(server.threads.connections).toEqual([3, 3, 3]);
  // A thread counts a request once it is answered, which its client may have heard before.
  await eventually('each is counted', async () => {
    await server.threads.flush();
    return server.counted.filter((request) => request === '/v1/collections/{name}/search 200').length === 9;
  });
});

test('what is changed through one thread is known to all before the answer', async () => {
  server = await startThreadedServer({ HTTP_THREADS: '3' });
  await withCollection();
  const [one, two, three] = [client(), client(), client()];
  for (const call of [one, two, three]) expect((await call(...SEARCH)).status).toBe('success');
  for (let round = 0; round < 20; round += 1) {
    const key = (await one('POST', '/v1/admin/keys', { name: 'reader', role: 'readonly' })).data;
    const [a, b] = [client(key.key), client(key.key)];
    expect([(await a(...SEARCH)).status, (await b(...SEARCH)).status]).toEqual(['success', 'success']);
    await two('PATCH', `/v1/admin/keys/${key.id}`, { is_active: false });
    expect([(await a(...SEARCH)).error.code, (await b(...SEARCH)).error.code]).toEqual([401, 401]);
    // The collection is deleted and made again under its name, with another dimension.
    expect((await three('DELETE', '/v1/collections/c')).status).toBe('success');
    for (const call of [one, two]) expect((await call(...SEARCH)).error.code).toBe(404);
    expect((await two('POST', '/v1/collections', { name: 'c', dim: 3 + round })).status).toBe('success');
    for (const call of [one, three]) expect((await call(...SEARCH)).error.message).toContain(`dimension ${3 + round}`);
    expect((await one('DELETE', '/v1/collections/c')).status).toBe('success');
    await two('POST', '/v1/collections', { name: 'c', dim: 2 });
  }
});

test.each([
  ['of a key', { RATE_LIMIT_PER_MINUTE: '40' }, 'admin-secret'],
  ['of an address without a valid key', { BAD_KEY_LIMIT_PER_MINUTE: '40' }, 'wrong-secret'],
])('the limit %s is exact over all threads that count at once', async (_whose, environment, key) => {
  server = await startThreadedServer({ HTTP_THREADS: '3', ...environment });
  const clients = Array.from({ length: 9 }, () => client(key));
  const codes = (
    await Promise.all(
      clients.map((call) => Promise.all(Array.from({ length: 20 }, () => call('GET', '/v1/collections')))),
    )
  )
    .flat()
    .map(({ error }) => error?.code ?? 200);
  expect(codes.filter((code) => code === 429)).toHaveLength(180 - 40);
});

test('a very high limit is counted over all threads, too', async () => {
  server = await startThreadedServer({ HTTP_THREADS: '3', RATE_LIMIT_PER_MINUTE: '1000000' });
  const answers = await Promise.all(
    Array.from({ length: 60 }, () =>
      fetch(`${server.baseUrl}/v1/collections`, { headers: { 'x-api-key': 'admin-secret' } }),
    ),
  );
  const remaining = answers.map(({ headers }) => Number(headers.get('ratelimit-remaining')));
  expect(remaining.sort((a, b) => b - a)).toEqual(Array.from({ length: 60 }, (_, i) => 999_999 - i));
});

test('a one-time link signs one in, whichever threads are asked at once', async () => {
  server = await startThreadedServer({ HTTP_THREADS: '3' });
  const token = server.signIn.offer(server.adminKey);
  const clients = Array.from({ length: 9 }, () => client('none'));
  const answers = await Promise.all(clients.map((call) => call('POST', '/v1/sign_in', { token })));
  expect(answers.filter(({ status }) => status === 'success').map(({ data }) => data)).toEqual([
    { api_key: server.adminKey, role: 'admin', key_id: 1 },
  ]);
  expect(answers.filter(({ error }) => error?.code === 401)).toHaveLength(8);
});

test('tokens can be guessed at no faster than keys', async () => {
  server = await startThreadedServer({ HTTP_THREADS: '2', BAD_KEY_LIMIT_PER_MINUTE: '5' });
  const clients = Array.from({ length: 4 }, () => client('none'));
  const codes: number[] = [];
  for (let i = 0; i < 8; i++)
    codes.push((await clients[i % 4]('POST', '/v1/sign_in', { token: `guess-${i}` })).error.code);
  expect(codes).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
});

test('items written through different threads keep the order in which they were answered', async () => {
  server = await startThreadedServer({ HTTP_THREADS: '3' });
  await withCollection();
  const clients = [client(), client(), client()];
  const ids = ['a'];
  for (let i = 0; i < 300; i += 1) {
    ids.push(`item-${i}`);
    await clients[i % 3]('POST', '/v1/collections/c/upsert', { external_id: `item-${i}`, vector: [1, 2] });
  }
  const { vectors } = (await clients[0]('GET', '/v1/collections/c/export')).data;
  expect(vectors.map((vector: { external_id: string }) => vector.external_id)).toEqual(ids);
});

test.each([
  ['dies', 'die'],
  ['stands still', 'hang'],
])('while a thread %s and is replaced, no request of another thread fails', async (_what, order) => {
  server = await startThreadedServer({}, { lookMs: 500 });
  await withCollection();
  for (const agent of agents.splice(0)) agent.destroy();
  await eventually('the first connection is gone', () => server.threads.connections.every((count) => count === 0));
  const clients = Array.from({ length: 8 }, () => client());
  for (const call of clients) await call(...SEARCH);
  expect(server.threads.connections).toEqual([4, 4]);
  let isOver = false;
  const failures = clients.map(() => 0);
  const successes = clients.map(() => 0);
  const load = clients.map(async (call, i) => {
    while (!isOver) {
      const isOk = await call(...SEARCH).then(
        ({ status }) => status === 'success',
        () => false,
      );
      if (isOk) successes[i] += 1;
      else failures[i] += 1;
      if (!isOk) await new Promise((wake) => setTimeout(wake, 5));
    }
  });
  try {
    const restarted = server.peers.length + 1;
    server.peers[1].tell(order);
    await eventually('the thread is replaced and serves', async () => {
      if (server.peers.length < restarted) return false;
      await client()(...SEARCH);
      return server.threads.connections.every((count) => count > 0);
    });
    const before = [...successes];
    await eventually('every client is served', () => successes.every((count, i) => count > before[i]));
    // Four clients had connections to the other thread and never noticed.
    expect(failures.filter((count) => count === 0).length).toBeGreaterThanOrEqual(4);
  } finally {
    isOver = true;
    await Promise.all(load);
  }
  expect(server.log.lines.filter(({ level }) => level === 'error')).toEqual([
    {
      level: 'error',
      message: 'a thread that serves the API has ended; it is replaced',
      fields: {
        thread: 1,
        code: 1,
        error:
          order === 'hang' ? expect.objectContaining({ message: expect.stringContaining('did nothing') }) : undefined,
      },
    },
  ]);
});

/** A thread may take long to start on a busy machine; who is not handed over is closed before the test ends. */
const HELD_MS = 240_000;

test('who connects while all threads are being replaced is served by the first that is there', async () => {
  server = await startThreadedServer({}, { heldMs: HELD_MS });
  await withCollection();
  for (const peer of server.peers.slice()) peer.tell('fail');
  const failed = (): number =>
    server.log.lines.filter(({ message }) => message.includes('has ended; it is replaced')).length;
  await eventually('both have failed', () => failed() === 2);
  const answers = await Promise.all(Array.from({ length: 8 }, () => client()(...SEARCH)));
  expect(answers.map(({ status }) => status)).toEqual(new Array(8).fill('success'));
  expect(server.threads.failures).toBe(2);
});

test('threads that can not start fail the start of the process, with the reason', async () => {
  server = await startThreadedServer({ HTTP_THREADS: '1' });
  const failed = await startThreadedServer({}, { entry: join(tmpdir(), 'no-such-worker.js') }).catch(
    (error: unknown) => error,
  );
  expect(failed).toMatchObject({
    kind: 'internal',
    cause: expect.objectContaining({ message: expect.stringContaining('no-such-worker.js') }),
  });
});

test('an upload and an export go through a thread in pieces', async () => {
  server = await startThreadedServer();
  const call = new ApiClient({ baseUrl: server.baseUrl, adminKey: server.adminKey });
  await call.post('/v1/collections', { name: 'texts', dim: 32 });
  const form = new FormData();
  form.set('collection_name', 'texts');
  form.set('file', new Blob([Array.from({ length: 20_000 }, (_, i) => `sentence number ${i}.`).join(' ')]), 'long.txt');
  const answer = (await (
    await fetch(`${server.baseUrl}/v1/documents/upload`, {
      method: 'POST',
      headers: { 'x-api-key': server.adminKey },
      body: form,
    })
  ).json()) as any;
  expect(answer.status).toBe('success');
  const { vectors } = ((await call.get('/v1/collections/texts/export')).json as any).data;
  expect(vectors).toHaveLength(answer.data.chunks_created);
  const empty = new FormData();
  empty.set('collection_name', 'texts');
  empty.set('file', new Blob([Buffer.from([0x61, 0xff, 0xfe])]), 'bad.txt');
  const refused = (await (
    await fetch(`${server.baseUrl}/v1/documents/upload`, {
      method: 'POST',
      headers: { 'x-api-key': server.adminKey },
      body: empty,
    })
  ).json()) as any;
  expect(refused.error).toMatchObject({ code: 400, message: expect.stringContaining('UTF-8') });
});

test('a closing process finishes the requests that run, and says that the connection ends', async () => {
  server = await startThreadedServer();
  await withCollection();
  for (const agent of agents.splice(0)) agent.destroy();
  await eventually('the first connection is gone', () => server.threads.connections.every((count) => count === 0));
  const connection = await RawConnection.open(server);
  await connection.send(
    `POST /v1/collections/c/search HTTP/1.1\r\nhost: x\r\nx-api-key: ${server.adminKey}\r\ncontent-type: application/json\r\ncontent-length: 24\r\n\r\n{"vector":[1,2],`,
  );
  await eventually('the request has arrived', () => server.threads.connections.includes(1));
  const closing = server.threads.close(30_000);
  // Or the threads would soon take the main thread for one that stands still, and refuse what comes by open
  // connections.
  const beats = mainBeats(server.threads);
  await eventually('the main thread still shows that it turns', () =>
    mainBeats(server.threads).every((beat, i) => beat !== beats[i]),
  );
  await connection.send('"k":  1}');
  expect(await connection.closed()).toMatch(/connection: close[^]*"external_id":"a"/i);
  await closing;
});

test('a connection in its TLS handshake is served although another one is turned away meanwhile', async () => {
  const authority = new CertificateAuthority('of this test');
  const certificate = { ...authority.issue('the service'), ticketKeys: randomBytes(48) };
  server = await startThreadedServer(
    { HTTP_THREADS: '1', API_TLS_CERT_FILE: 'told', API_TLS_KEY_FILE: 'told' },
    { connectionsMax: 1, certificate },
  );
  try {
    const port = Number(new URL(server.baseUrl).port);
    const early = connect(port, '127.0.0.1');
    await once(early, 'connect');
    await eventually('it has a thread', () => server.threads.connections[0] === 1);
    const turnedAway = connect(port, '127.0.0.1');
    turnedAway.on('error', () => undefined);
    await once(turnedAway, 'close');
    const socket = connectTls({
      socket: early,
      ca: authority.pem,
      servername: 'localhost',
      checkServerIdentity: () => undefined,
    });
    socket.write(
      `GET /v1/collections HTTP/1.1\r\nhost: a\r\nx-api-key: ${server.adminKey}\r\nconnection: close\r\n\r\n`,
    );
    let heard = '';
    for await (const piece of socket) heard += String(piece);
    expect(heard).toContain('"status":"success"');
  } finally {
    authority.destroy();
  }
});
