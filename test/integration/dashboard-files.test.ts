import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gzipSync } from 'node:zlib';
import { ApiClient, dataOf, errorOf } from '../support/targets/api-client';
import { Http2Door } from '../support/http/http2-door';
import { type PlainServer, startPlainServer } from '../support/servers/plain-server';

/** What browsers get at /ui, over the real HTTP layer. */

const PAGE = '<!doctype html><title>Quiver</title>';
const SCRIPT = `console.log(${JSON.stringify('x'.repeat(5_000))})`;

describe('the files of the dashboard', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-ui-'));
  let server: PlainServer;
  let api: ApiClient;

  beforeAll(async () => {
    mkdirSync(join(folder, 'ui', 'assets'), { recursive: true });
    writeFileSync(join(folder, 'secret.txt'), 'secret');
    writeFileSync(join(folder, 'ui', 'index.html'), PAGE);
    writeFileSync(join(folder, 'ui', 'icon.svg'), '<svg/>');
    writeFileSync(join(folder, 'ui', 'assets', 'main-1a2b.js'), SCRIPT);
    writeFileSync(join(folder, 'ui', 'assets', 'main-1a2b.js.br'), brotliCompressSync(SCRIPT));
    writeFileSync(join(folder, 'ui', 'assets', 'main-1a2b.js.gz'), gzipSync(SCRIPT));
    server = await startPlainServer({}, { dashboardFolder: join(folder, 'ui') });
    api = new ApiClient(server);
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });
  const get = (path: string, headers: Record<string, string> = {}) => api.get(path, { key: null, headers });

  test('a view without its # is found behind one', async () => {
    const { httpStatus, headers } = await get('/ui/collections/a%20b');
    expect([httpStatus, headers.location]).toEqual([303, '/ui/#/collections/a%20b']);
  });

  test.each(['/ui', '/ui/', '/ui?a=1'])('%s is the page, asked for anew each time', async (path) => {
    const answer = await get(path);
    expect(answer).toMatchObject({ httpStatus: 200, text: PAGE });
    expect(answer.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'content-length': String(PAGE.length),
    });
    const again = await get(path, { 'if-none-match': `"other", ${answer.headers.etag}` });
    expect(again).toMatchObject({ httpStatus: 304, text: '' });
    expect(again.headers.etag).toBe(answer.headers.etag);
  });

  test('nothing of it runs, loads or is framed by what is not ours, and no other origin is let in', async () => {
    for (const path of ['/ui', '/ui/icon.svg', '/ui/assets/main-1a2b.js', '/ui/assets/none.js']) {
      const { headers } = await get(path, { origin: 'https://elsewhere.example' });
      expect(headers['content-security-policy']).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
      );
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'x-frame-options': 'DENY',
        'cross-origin-resource-policy': 'same-origin',
      });
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });

  test('files with a hash in their names are kept for good, and come packed to those who can unpack them', async () => {
    const path = '/ui/assets/main-1a2b.js';
    const plain = await get(path);
    expect(plain.text).toBe(SCRIPT);
    expect(plain.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
    });
    expect(plain.headers['content-encoding']).toBeUndefined();
    const codingOf = async (accepted: string): Promise<unknown> =>
      (await get(path, { 'accept-encoding': accepted })).headers['content-encoding'];
    expect(await codingOf('gzip, deflate, br')).toBe('br');
    expect(await codingOf('gzip;q=0.5, br;q=0')).toBe('gzip');
    expect(await codingOf('identity')).toBeUndefined();
    const packed = await fetch(server.baseUrl + path, { headers: { 'accept-encoding': 'br' } });
    expect(await packed.text()).toBe(SCRIPT);
    expect(Number(packed.headers.get('content-length'))).toBe(brotliCompressSync(SCRIPT).length);
    expect(brotliDecompressSync(brotliCompressSync(SCRIPT)).toString()).toBe(SCRIPT);
  });

  test('a file that is not there is told so, and no path leads out of the folder', async () => {
    for (const path of [
      '/ui/assets/none.js',
      '/ui/assets/',
      '/ui/none.png',
      '/ui/../secret.txt',
      '/ui/%2e%2e/secret.txt',
      '/ui/..%2fsecret.txt',
      '/ui//etc/passwd.txt',
      '/ui/assets/main-1a2b.js.br',
    ]) {
      const answer = await get(path);
      expect([path, answer.httpStatus, answer.headers['content-type']]).toEqual([
        path,
        404,
        'text/plain; charset=utf-8',
      ]);
      expect(answer.text).not.toContain('secret\n');
    }
  });

  test('HEAD tells the length; other methods are as unknown as ever', async () => {
    const head = await api.call({ method: 'HEAD', path: '/ui', key: null });
    expect(head).toMatchObject({ httpStatus: 200, text: '' });
    expect(head.headers['content-length']).toBe(String(PAGE.length));
    expect(errorOf(await api.post('/ui', {}, { key: null }), 404)).toBe('there is no POST /ui');
  });

  test('a browser that asks for / is sent there, a program gets JSON with the link', async () => {
    const sent = await get('/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
    expect(sent).toMatchObject({ httpStatus: 303, text: '' });
    expect(sent.headers.location).toBe('/ui');
    for (const accept of ['*/*', 'application/json', '']) expect(dataOf(await get('/', { accept })).ui).toBe('/ui');
  });

  test('requests are counted under one name', async () => {
    server.answered.length = 0;
    await get('/ui/assets/main-1a2b.js');
    await get('/ui/assets/none.js');
    expect(server.answered.map(({ endpoint, code }) => [endpoint, code])).toEqual([
      ['/ui', 200],
      ['/ui', 404],
    ]);
  });

  test('over HTTP/2, too', async () => {
    const door = await Http2Door.open(server.server);
    const caller = new ApiClient({ ...server, http2: door.caller });
    expect(await caller.get('/ui', { key: null })).toMatchObject({ httpStatus: 200, text: PAGE });
    const { etag } = (await caller.get('/ui', { key: null })).headers;
    expect(await caller.get('/ui', { key: null, headers: { 'if-none-match': String(etag) } })).toMatchObject({
      httpStatus: 304,
      text: '',
    });
    await door.close();
  });

  test('before they are built the page says what to do, and once they are it is there without a restart', async () => {
    const later = join(folder, 'later');
    const waiting = await startPlainServer({}, { dashboardFolder: later });
    const client = new ApiClient(waiting);
    expect(await client.get('/ui', { key: null })).toMatchObject({
      httpStatus: 503,
      text: expect.stringContaining('npm run setup'),
    });
    mkdirSync(later);
    writeFileSync(join(later, 'index.html'), PAGE);
    expect(await client.get('/ui', { key: null })).toMatchObject({ httpStatus: 200, text: PAGE });
    await waiting.stop();
  });

  test('can be left out', async () => {
    const without = await startPlainServer({ API_UI: 'false' });
    const client = new ApiClient(without);
    errorOf(await client.get('/ui', { key: null }), 404);
    expect(dataOf(await client.get('/', { key: null, headers: { accept: 'text/html' } })).ui).toBeNull();
    await without.stop();
  });
});
