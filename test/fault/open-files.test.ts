import { connect, type Socket } from 'node:net';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';

/** A process whose open files are few: whatever is asked of it, it can still be reached. */

/** Of 256 files 85 are for connections, two each, and 128 for the process itself: room for three shards of twelve. */
const FILES = 256;
const CONNECTIONS = 42;
const SHARDS = 3;

let server: EmbeddedProcess;
const sockets: Socket[] = [];

// Shards that nobody uses stay open, but for the last test.
beforeEach(() => {
  server = new EmbeddedProcess({ environment: { IDLE_SHARD_SECONDS: '0' } });
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.destroy();
});

const create = (name: string, more: object = {}) => server.call('POST', '/v1/collections', { name, dim: 2, ...more });
const livez = (): Promise<number> => fetch(`http://127.0.0.1:${server.opsPort}/livez`).then(({ status }) => status);

/** A client that begins a request and never ends it. */
async function hold(): Promise<Socket> {
  const socket = connect(server.port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  await new Promise<void>((done) => socket.once('connect', done));
  socket.write('GET / HTTP/1.1\r\n');
  return socket;
}

test('collections are created as long as there are files for them, then refused by name of the limit', async () => {
  server.openFilesMax = FILES;
  await server.start();
  expect((await create('many', { shards: 256 })).error).toEqual({
    code: 400,
    message: `the collection needs 256 shards, and 0 of at most ${SHARDS} are taken: the limit comes from the ${FILES} files that may be open (ulimit -n)`,
  });
  const outcomes = await Promise.all(Array.from({ length: 20 }, (_, i) => create(`c${i}`)));
  const refused = outcomes.filter(({ status }) => status === 'error');
  expect(refused).toHaveLength(20 - SHARDS);
  for (const { error } of refused)
    expect(error).toMatchObject({ code: 400, message: expect.stringContaining('files that may be open (ulimit -n)') });
  expect(await livez()).toBe(200);
  expect((await server.data('GET', '/v1/collections')).collections).toHaveLength(SHARDS);
  const [{ name }] = (await server.data('GET', '/v1/collections')).collections;
  await server.data('DELETE', `/v1/collections/${name}`);
  expect((await create('after')).status).toBe('success');
});

test('beyond the connections there is room for, clients are told so, and others are served as before', async () => {
  server.openFilesMax = FILES;
  await server.start();
  const CLOSE = { connection: 'close' };
  expect((await server.call('POST', '/v1/collections', { name: 'c', dim: 2 }, CLOSE)).status).toBe('success');
  const idle = connect(server.port, '127.0.0.1').on('error', () => undefined);
  sockets.push(idle);
  idle.write('GET / HTTP/1.1\r\n\r\n');
  await new Promise((done) => idle.once('data', done));
  const idleEnded = new Promise((done) => idle.once('close', done));
  // The idle one is closed to make room for the last, which came too early for it and is told to come again.
  for (let i = 0; i < CONNECTIONS; i += 1) await hold();
  await idleEnded;
  // The room of the idle one is seen a moment after its end: until then the next one is turned away, too.
  let answer!: Response;
  await eventually('there is no room left', async () => {
    await hold();
    answer = await fetch(`${server.baseUrl}/v1/collections/c`, { headers: { 'x-api-key': server.apiKey, ...CLOSE } });
    return answer.headers.get('retry-after') !== null;
  });
  expect(answer.headers.get('retry-after')).toBe('1');
  expect(answer.headers.get('connection')).toBe('close');
  expect(((await answer.json()) as { error: unknown }).error).toEqual({
    code: 429,
    message: expect.stringMatching(
      /^server busy: more connections than it can hold \(42, by its limit of open files\)/,
    ),
  });
  expect(await livez()).toBe(200);
  // Far more than there are files for: the process is reached all the same, and goes on when they have gone.
  await Promise.all(Array.from({ length: 300 }, hold));
  expect(await livez()).toBe(200);
  for (const socket of sockets.splice(0)) socket.destroy();
  // Until the process has seen them go, connections are closed without a word.
  const write = () => server.call('POST', '/v1/collections/c/upsert', { external_id: 'a', vector: [1, 2] });
  await eventually('a write goes through', () =>
    write().then(
      ({ status }) => status === 'success',
      () => false,
    ),
  );
});

test('a service that has more shards than its files allow starts, serves some and says what is too many', async () => {
  await server.start();
  const names = Array.from({ length: 9 }, (_, i) => `c${i}`);
  for (const name of names) {
    await create(name);
    await server.data('POST', `/v1/collections/${name}/upsert`, { external_id: name, vector: [1, 2] });
  }
  await server.stop();
  server.openFilesMax = FILES;
  await server.start();
  expect(await livez()).toBe(200);
  await eventually(
    'it has told so',
    () => /there are more shards than the limit of open files/.test(server.output) && /notOpen.*6/.test(server.output),
  );
  const search = (name: string) => server.call('POST', `/v1/collections/${name}/search`, { vector: [1, 2], k: 1 });
  const answers = await Promise.all(names.map(search));
  expect(answers.filter(({ status }) => status === 'success')).toHaveLength(SHARDS);
  for (const { error } of answers.filter(({ status }) => status === 'error'))
    expect(error).toMatchObject({
      code: 500,
      message: expect.stringMatching(/not open: this process holds 3 shards.*ulimit -n/),
    });
  expect((await create('one-more')).error).toMatchObject({
    code: 400,
    message: expect.stringContaining('9 of at most 3 are taken'),
  });
  // What is deleted makes room, also for shards that could not be opened at the start.
  for (const name of names.slice(0, 6)) await server.data('DELETE', `/v1/collections/${name}`);
  for (const name of names.slice(6))
    expect((await search(name)).data.results).toEqual([expect.objectContaining({ external_id: name })]);
  expect((await create('still-none')).error).toMatchObject({ code: 400 });
});

test('where shards are closed that nobody uses, there are more of them than files, and each answers', async () => {
  await server.destroy();
  server = new EmbeddedProcess();
  server.openFilesMax = FILES;
  await server.start();
  expect((await create('many', { shards: 256 })).error).toMatchObject({
    code: 400,
    message: expect.stringMatching(/needs 256 shards, and at most 3 can be open at once.*ulimit -n/),
  });
  const names = Array.from({ length: 12 }, (_, i) => `c${i}`);
  for (const name of names) {
    expect((await create(name)).status).toBe('success');
    await server.data('POST', `/v1/collections/${name}/upsert`, { external_id: name, vector: [1, 2] });
  }
  for (const crash of [false, true]) {
    if (crash) await server.kill();
    else await server.stop();
    await server.start();
    expect(
      (await server.data('GET', '/v1/collections')).collections.map(({ vector_count }: any) => vector_count),
    ).toEqual(names.map(() => 1));
    const found = await Promise.all(
      names.map((name) => server.data('POST', `/v1/collections/${name}/search`, { vector: [1, 2], k: 2 })),
    );
    expect(found.map(({ results }: any) => results.map((hit: any) => hit.external_id))).toEqual(
      names.map((name) => [name]),
    );
    expect(await livez()).toBe(200);
  }
});
