import { type ClientHttp2Stream, constants } from 'node:http2';
import { ApiClient, dataOf, errorOf } from '../support/api-client';
import { eventually } from '../support/eventually';
import { Http2Caller } from '../support/http2-caller';
import { type PlainServer, startPlainServer } from '../support/plain-server';
import { RawConnection } from '../support/raw-connection';
import { describeApi } from './api-suite';

async function startOverHttp2(environment: Record<string, string> = {}): Promise<PlainServer & { http2: Http2Caller }> {
  const target = await startPlainServer(environment);
  const http2 = new Http2Caller(target.baseUrl);
  const stop = async (): Promise<void> => {
    http2.close();
    await target.stop();
  };
  return { ...target, http2, stop };
}

describeApi('the HTTP layer over a plain service, by HTTP/2', startOverHttp2);

describe('a connection of HTTP/2', () => {
  let target: PlainServer & { http2: Http2Caller };
  let api: ApiClient;

  beforeAll(async () => {
    target = await startFilled({ MAX_BODY_BYTES: String(2 * 1024 * 1024) });
    api = new ApiClient(target);
  });
  afterAll(() => target?.stop());

  async function startFilled(environment: Record<string, string>): Promise<typeof target> {
    const started = await startOverHttp2(environment);
    const call = new ApiClient(started);
    dataOf(await call.post('/v1/collections', { name: 'c', dim: 2 }));
    dataOf(await call.post('/v1/collections/c/bulk_upsert', { items: Array.from({ length: 1000 }, (_, i) => ({ external_id: `item-${i}`, vector: [1, i], metadata: { text: 'x'.repeat(400) } })) }));
    return started;
  }

  function begin(path: string, body: string | null, { headers = {}, at = target }: { headers?: Record<string, string>; at?: typeof target } = {}): ClientHttp2Stream {
    const stream = at.http2.open().request({ ':method': 'POST', ':path': path, 'x-api-key': at.adminKey, ...headers });
    if (body !== null) stream.end(body);
    return stream;
  }

  async function textOf(stream: ClientHttp2Stream): Promise<string> {
    let text = '';
    for await (const piece of stream.setEncoding('utf8')) text += piece;
    return text;
  }

  test('answers many requests at once, on one connection', async () => {
    const ks = Array.from({ length: 300 }, (_, i) => 1 + (i % 50));
    const answers = await Promise.all(ks.map((k) => api.post('/v1/collections/c/search', { vector: [1, 2], k })));
    expect(answers.map((answer) => dataOf(answer).results.length)).toEqual(ks);
  });

  test('a quick request does not wait for a slow one before it', async () => {
    const search = target.service.search.search.bind(target.service.search);
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    target.service.search.search = async (...given) => {
      await held;
      return search(...given);
    };
    const slow = api.post('/v1/collections/c/search', { vector: [1, 2], k: 1 });
    dataOf(await api.get('/v1/collections/c'));
    target.service.search.search = search;
    release();
    dataOf(await slow);
  });

  test('a body that is too large is refused while it comes, and the connection serves on', async () => {
    const session = target.http2.open();
    const stream = begin('/v1/collections/c/bulk_upsert', null);
    stream.on('error', () => undefined);
    const ended = new Promise<number>((resolve) => stream.once('close', () => resolve(stream.rstCode)));
    const text = textOf(stream);
    const piece = Buffer.alloc(64 * 1024, ' ');
    let sent = 0;
    while (!stream.closed && sent < 64 * 1024 * 1024) {
      sent += piece.length;
      await Promise.race([new Promise((taken) => stream.write(piece, taken)), ended]);
    }
    expect(JSON.parse(await text).error).toEqual({ code: 400, message: expect.stringContaining('MAX_BODY_BYTES') });
    expect(await ended).toBe(constants.NGHTTP2_NO_ERROR);
    expect(sent).toBeLessThan(64 * 1024 * 1024);
    dataOf(await api.get('/v1/collections/c'));
    expect(target.http2.open()).toBe(session);
  });

  describe('whose client stands still', () => {
    // What stands still because the machine is busy does so for less.
    let at: typeof target;
    beforeAll(async () => {
      at = await startFilled({ STALL_TIMEOUT_MS: '1000' });
    });
    afterAll(() => at?.stop());

    test('and sends no more of a body: that is refused, however small it was to be', async () => {
      const stream = begin('/v1/collections/c/search', null, { headers: { 'content-length': '100' }, at });
      stream.write('{');
      expect(JSON.parse(await textOf(stream)).error).toEqual({ code: 400, message: expect.stringContaining('STALL_TIMEOUT_MS') });
    });

    test('and takes nothing of its answer: that is cut off', async () => {
      const stream = begin('/v1/collections/c/scroll', JSON.stringify({ limit: 1000 }), { at });
      stream.pause();
      stream.on('error', () => undefined);
      // Half a megabyte is more than the client's window: the rest waits in the server.
      await eventually('the stream is reset', () => stream.closed);
      expect(stream.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR);
      dataOf(await new ApiClient(at).get('/v1/collections/c'));
    });
  });

  test('CONNECT and unknown paths get the envelope', async () => {
    const stream = target.http2.open().request({ ':method': 'CONNECT', ':authority': 'elsewhere:443' }, { endStream: false });
    expect(JSON.parse(await textOf(stream)).error.code).toBe(404);
    errorOf(await api.get('/v1/nothing'), 404);
    errorOf(await api.get('/docs'), 404);
  });

  test('a preface in pieces is understood', async () => {
    const connection = await RawConnection.open(target);
    for (const piece of ['PRI * HT', 'TP/2.0\r\n\r\nSM', '\r\n\r\n']) {
      await connection.send(piece);
      await new Promise((next) => setImmediate(next));
    }
    // The client's settings, none; the server's own begin a frame of type 4, and its acknowledgement is an empty one with flag 1.
    await connection.send(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
    await connection.until(/\0\0\0\x04\x01\0\0\0\0/);
    connection.socket.destroy();
  });

  test('what is no HTTP/2 after the preface ends its connection only', async () => {
    const connection = await RawConnection.open(target);
    await connection.send('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + 'nonsense'.repeat(100));
    await connection.closed();
    dataOf(await api.get('/v1/collections/c'));
  });

  test('a client that cancels all that it asks for leaves nothing behind', async () => {
    const before = target.answered.length;
    const streams = Array.from({ length: 100 }, () => begin('/v1/collections/c/search', JSON.stringify({ vector: [1, 2], k: 50 })));
    await Promise.all(
      streams.map((stream) => {
        stream.on('error', () => undefined);
        const closed = new Promise((resolve) => stream.once('close', resolve));
        stream.close(constants.NGHTTP2_CANCEL);
        return closed;
      }),
    );
    dataOf(await api.post('/v1/collections/c/search', { vector: [1, 2], k: 1 }));
    expect(target.answered.length).toBeLessThanOrEqual(before + 101);
  });
});

test('a server that closes finishes what is under way and tells clients that no more is taken', async () => {
  const target = await startOverHttp2();
  const api = new ApiClient(target);
  dataOf(await api.post('/v1/collections', { name: 'c', dim: 2 }));
  const search = target.service.search.search.bind(target.service.search);
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const begun = new Promise<void>((resolve) => {
    target.service.search.search = async (...given) => {
      resolve();
      await held;
      return search(...given);
    };
  });
  const session = target.http2.open();
  const goneAway = new Promise<void>((resolve) => session.once('goaway', () => resolve()));
  const answer = api.post('/v1/collections/c/search', { vector: [1, 2], k: 1 });
  await begun;
  const stopped = target.stop;
  const closed = new Promise<void>((resolve) => target.server.once('close', () => resolve()));
  target.server.close();
  release();
  dataOf(await answer);
  await goneAway;
  await closed;
  await stopped();
});
