import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import { QuiverClient } from '../../clients/typescript/src/index';
import { ClosedError, openQuiver, ServerError } from '../../embedded/library/index';
import { ServiceThread } from '../../embedded/library/service-thread';
import { eventually } from '../support/eventually';
import { DATA_PARENT } from '../support/memory-folder';
import { EmbeddedProcess } from '../support/processes/embedded-process';

/** A folder that a program has open in its own process. */

const root = resolve(__dirname, '../..');
const run = promisify(execFile);
const settings = { EMBEDDING_MODEL: 'builtin' };
let folder: string;
/** Of programs that import the package by its name. */
let project: string;

beforeEach(() => {
  folder = mkdtempSync(join(DATA_PARENT, 'quiver-in-process-'));
  project = join(folder, 'project');
  mkdirSync(join(project, 'node_modules'), { recursive: true });
  symlinkSync(root, join(project, 'node_modules/quiver'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const data = (): string => join(folder, 'data');

function program(name: string, text: string): string {
  const file = join(project, name);
  writeFileSync(file, text);
  return file;
}

const OPEN = `await openQuiver(process.argv[2], { settings: { EMBEDDING_MODEL: 'builtin' } })`;

test('the guide does what it says, and a program ends with its folder open or closed', async () => {
  const guide = readFileSync(join(root, 'docs/guides/in-process.md'), 'utf8');
  const [, example] = /```js\n([\s\S]*?)```/.exec(guide)!;
  program('guide.mjs', example);
  const { stdout, stderr } = await run(process.execPath, ['guide.mjs'], { cwd: project });
  expect([stdout, stderr]).toEqual(['mars\n', '']);
  const required = program(
    'required.cjs',
    `const { openQuiver } = require('quiver');
     (async () => { const quiver = ${OPEN}; console.log((await quiver.listCollections()).length); })();`,
  );
  expect((await run(process.execPath, [required, join(project, 'data')])).stdout).toBe('1\n');
});

test('has types, for both kinds of modules', async () => {
  const text = `
    import { openQuiver, NotFoundError, type EmbeddedQuiver, type OpenOptions } from 'quiver';
    const options: OpenOptions = { settings: { LOG_LEVEL: 'error' }, onLog: null };
    export async function use(): Promise<number | undefined> {
      await using quiver: EmbeddedQuiver = await openQuiver('data', options);
      const rows = quiver.collection<{ n: number }>('rows');
      try {
        return (await rows.search({ vector: new Float32Array(2) })).results[0].metadata?.n;
      } catch (error) {
        if (error instanceof NotFoundError) return error.code;
        // @ts-expect-error -- It is a number.
        return (await rows.get('a')).metadata?.n satisfies string;
      }
    }`;
  const files = [program('module.mts', text), program('common.cts', text)];
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const words = [
    '--strict',
    '--noEmit',
    '--module',
    'node16',
    '--target',
    'es2022',
    '--lib',
    'es2022,esnext.disposable',
  ];
  const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types'), '--skipLibCheck'];
  const checked = run(process.execPath, [tsc, ...words, ...types, ...files], { cwd: project });
  expect(await checked.catch(({ stdout }: { stdout: string }) => ({ stdout }))).toMatchObject({ stdout: '' });
});

test('a folder is one process’s: others hear whose it is', async () => {
  const quiver = await openQuiver(data(), { settings });
  const second = await openQuiver(data(), { settings }).catch((error: unknown) => error);
  expect(second).toBeInstanceOf(ServerError);
  expect(second).toMatchObject({
    code: 500,
    message: expect.stringContaining(`in use by this process (${process.pid})`),
  });
  const other = program(
    'other.mjs',
    `import { openQuiver } from 'quiver';
     const say = ({ name, code, message }) => console.log(name, code, message);
     await ${OPEN.slice(6)}.catch(say);`,
  );
  const { stdout } = await run(process.execPath, [other, data()]);
  expect(stdout).toMatch(new RegExp(`^ServerError 500 .* in use by another process: ${process.pid} \\(`));
  await quiver.close();
  // It is free, and nothing is left of who had it.
  expect(readdirSync(data())).not.toContain('owner.json');
  const again = await openQuiver(data(), { settings });
  await again.close();
});

test('what is stored here is served by a process, and the other way round', async () => {
  const quiver = await openQuiver(data(), { settings });
  const rows = await quiver.getOrCreate({ name: 'rows', dim: 2 });
  await rows.upsert({ external_id: 'here', vector: [1, 0], metadata: { n: 1 } });
  await quiver[Symbol.asyncDispose]();
  const server = new EmbeddedProcess({ dataDir: data() });
  await server.start();
  const client = new QuiverClient({ url: server.baseUrl, apiKey: server.apiKey });
  expect(await client.collection('rows').get('here')).toMatchObject({ metadata: { n: 1 } });
  await client.collection('rows').upsert({ external_id: 'there', vector: [0, 1] });
  await server.stop();
  const again = await openQuiver(data(), { settings });
  const { results } = await again.collection('rows').search({ vector: [0, 1], k: 2 });
  expect(results.map(({ external_id: id }) => id)).toEqual(['there', 'here']);
  await again.close();
});

test('`quiver serve` prints the first key of a folder that had no use for one', async () => {
  await (await openQuiver(data(), { settings })).close();
  const child = spawn(process.execPath, [join(root, 'scripts/quiver.cjs'), 'serve', data()], {
    env: { PATH: process.env.PATH, ...settings, PORT: '0', OPS_PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk) => (said += chunk));
  try {
    await eventually('it serves', async () => /Admin key, shown this once: \S+\n/.test(said));
    const [, url] = /serves on (\S+)/.exec(said)!;
    const [, apiKey] = /Admin key, shown this once: (\S+)/.exec(said)!;
    expect(await new QuiverClient({ url, apiKey }).me()).toMatchObject({ key_id: 1, role: 'admin' });
  } finally {
    const over = new Promise((done) => child.once('exit', done));
    child.kill();
    await over;
  }
});

test('a program that is killed loses nothing that was acknowledged', async () => {
  const writer = program(
    'writer.mjs',
    `import { openQuiver } from 'quiver';
     const quiver = ${OPEN};
     const rows = await quiver.getOrCreate({ name: 'rows', dim: 2 });
     for (let n = 0; ; n++) {
       await rows.upsert({ external_id: String(n), vector: [1, n] });
       console.log(n);
     }`,
  );
  const child = spawn(process.execPath, [writer, data()], { stdio: ['ignore', 'pipe', 'inherit'] });
  const over = new Promise((done) => child.once('close', done));
  let acknowledged = -1;
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged = Number(line);
    if (acknowledged === 50) child.kill('SIGKILL');
  }
  await over;
  expect(acknowledged).toBeGreaterThanOrEqual(50);
  const quiver = await openQuiver(data(), { settings });
  const ids = Array.from({ length: acknowledged + 1 }, (_, n) => String(n));
  expect(await quiver.collection('rows').fetch(ids)).toHaveLength(ids.length);
  await quiver.close();
});

test('a close waits for the writes under way, and what comes later is refused', async () => {
  const quiver = await openQuiver(data(), { settings });
  const rows = await quiver.getOrCreate({ name: 'rows', dim: 2 });
  const items = Array.from({ length: 200 }, (_, n) => ({ external_id: String(n), vector: [1, n] }));
  const writes = items.map((item) => rows.upsert(item));
  const closed = quiver.close();
  const late = rows.upsert({ external_id: 'late', vector: [1, 1] }).catch((error: unknown) => error);
  expect(await late).toBeInstanceOf(ClosedError);
  expect(await late).toMatchObject({ mayHaveArrived: false });
  expect((await Promise.all(writes)).map(({ external_id: id }) => id)).toEqual(items.map(({ external_id: id }) => id));
  await closed;
  await quiver.close();
  const again = await openQuiver(data(), { settings });
  expect(await again.collection('rows').stats()).toMatchObject({ vector_count: 200 });
  await again.close();
});

test('a close breaks off an answer that somebody reads in pieces', async () => {
  const quiver = await openQuiver(data(), { settings });
  const rows = await quiver.getOrCreate({ name: 'rows', dim: 256 });
  const vector = new Float32Array(256).fill(1);
  await rows.upsertMany(Array.from({ length: 2000 }, (_, n) => ({ external_id: String(n), vector })));
  const items = rows.export();
  await items.next();
  await quiver.close();
  const rest = async (): Promise<void> => {
    for await (const item of items) expect(item.vector).toHaveLength(256);
  };
  await expect(rest()).rejects.toBeInstanceOf(ClosedError);
});

test('a write under a key is done once, however the name of the header is written', async () => {
  const quiver = await openQuiver(data(), { settings });
  const rows = await quiver.getOrCreate({ name: 'rows', dim: 2 });
  const write = (name: string) => rows.upsert({ external_id: 'a', vector: [1, 0] }, { headers: { [name]: 'a-key' } });
  const first = await write('Idempotency-Key');
  expect(await write('idempotency-key')).toEqual(first);
  await quiver.close();
});

test('calls of a thread that dies are refused, and say so', async () => {
  const thread = await ServiceThread.open({ folder: data(), settings, words: [] }, null);
  const client = new QuiverClient({ url: 'http://embedded', apiKey: 'owner', fetch: thread.fetch as typeof fetch });
  const rows = await client.getOrCreate({ name: 'rows', dim: 2 });
  const call = rows.upsert({ external_id: 'a', vector: [1, 0] }).catch((error: unknown) => error);
  await (thread as unknown as { worker: Worker }).worker.terminate();
  expect(await call).toBeInstanceOf(ClosedError);
  expect(await call).toMatchObject({ mayHaveArrived: true, message: expect.stringContaining('has ended') });
  await expect(rows.info()).rejects.toMatchObject({ name: 'ClosedError', mayHaveArrived: false });
  await thread.close();
});

test('settings that are not valid, and folders that can not be made, are the client’s errors', async () => {
  const refused = openQuiver(data(), { settings: { ...settings, RECALL_TARGET: 'much' } });
  await expect(refused).rejects.toMatchObject({ name: 'BadRequestError', code: 400 });
  writeFileSync(data(), 'a file');
  await expect(openQuiver(data(), { settings })).rejects.toMatchObject({ name: 'ServerError', code: 500 });
});

test('what is opened and closed leaves no thread, no descriptor and no file behind', async () => {
  const words = ['--expose-gc', join(root, 'scripts/leaks.mjs'), '--times', '8', '--built'];
  const ended = await run(process.execPath, words).catch((error: { stdout: string; stderr: string }) => error);
  expect(ended.stderr).toBe('');
  expect(ended.stdout).toContain('opened and closed 8 times: nothing is left behind');
});
