import { type ClientHttp2Stream, connect, constants, type IncomingHttpHeaders } from 'node:http2';
import { ApiClient, dataOf, errorOf } from '../support/targets/api-client';
import { eventually } from '../support/eventually';
import type { Http2Caller } from '../support/http/http2-caller';
import { Http2Door } from '../support/http/http2-door';
import { ENDINGS, specialRequests } from '../support/http/http2-endings';
import { beginning, FLAGS, frameOf, headersOf, PREFACE, TYPES } from '../support/http/http2-frames';
import { type PlainServer, startPlainServer } from '../support/servers/plain-server';
import { RawConnection } from '../support/http/raw-connection';
import { describeApi } from './api-suite';

/** `faults`: what was caught of this program's own. */
type Http2Target = PlainServer & { http2: Http2Caller; door: Http2Door; faults: unknown[] };

async function startOverHttp2(environment: Record<string, string> = {}): Promise<Http2Target> {
  const faults: unknown[] = [];
  const target = await startPlainServer(environment, { log: { error: ({ error }) => faults.push(error) } });
  const door = await Http2Door.open(target.server);
  const stop = async (): Promise<void> => {
    await door.close();
    await target.stop();
  };
  return { ...target, http2: door.caller, door, faults, stop };
}

describeApi('the HTTP layer over a plain service, by HTTP/2', startOverHttp2);

describe('a connection of HTTP/2', () => {
  let target: Http2Target;
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
    dataOf(
      await call.post('/v1/collections/c/bulk_upsert', {
        items: Array.from({ length: 1000 }, (_, i) => ({
          external_id: `item-${i}`,
          vector: [1, i],
          metadata: { text: 'x'.repeat(400) },
        })),
      }),
    );
    return started;
  }

  function begin(
    path: string,
    body: string | null,
    { headers = {}, at = target }: { headers?: Record<string, string>; at?: typeof target } = {},
  ): ClientHttp2Stream {
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
      expect(JSON.parse(await textOf(stream)).error).toEqual({
        code: 400,
        message: expect.stringContaining('STALL_TIMEOUT_MS'),
      });
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

  test('that an error of its client has made deaf is cut, though its request is never over', async () => {
    const at = await startOverHttp2({ STALL_TIMEOUT_MS: '1000' });
    const connection = await RawConnection.openSecured({ ...at.door, protocol: 'h2' });
    const request = headersOf(1, specialRequests(at.adminKey).plain);
    const mistake = ENDINGS['a priority on itself'](1)[0] as Buffer;
    await connection.send(Buffer.concat([beginning(), request, mistake]));
    await connection.until(/depend on itself/);
    expect(at.door.connections).toBe(1);
    connection.socket.destroy();
    await eventually('it is cut', () => at.door.connections === 0);
    expect(at.faults).toEqual([]);
    await at.stop();
  });

  test('whose client waits for a slow answer is kept', async () => {
    const at = await startFilled({ STALL_TIMEOUT_MS: '300' });
    const search = at.service.search.search.bind(at.service.search);
    const session = at.http2.open();
    let asked = 0;
    const twice = new Promise<void>((done) => session.on('ping', () => ++asked === 6 && done()));
    at.service.search.search = async (...given) => {
      await twice;
      return search(...given);
    };
    dataOf(await new ApiClient(at).post('/v1/collections/c/search', { vector: [1, 2], k: 1 }));
    expect(at.http2.open()).toBe(session);
    await at.stop();
  });

  test('CONNECT and unknown paths get the envelope', async () => {
    const stream = target.http2
      .open()
      .request({ ':method': 'CONNECT', ':authority': 'elsewhere:443' }, { endStream: false });
    expect(JSON.parse(await textOf(stream)).error.code).toBe(404);
    errorOf(await api.get('/v1/nothing'), 404);
    errorOf(await api.post('/docs', {}), 404);
    await expect(api.get('/docs')).rejects.toThrow('HTTP_1_1_REQUIRED');
  });

  test('HEAD has the headers of an answer and no body', async () => {
    const stream = target.http2.open().request({ ':method': 'HEAD', ':path': '/openapi.json' });
    const headers = new Promise<IncomingHttpHeaders>((done) => stream.once('response', done));
    expect(await textOf(stream)).toBe('');
    expect((await headers)['x-request-id']).toBeTruthy();
    expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  });

  test.each(['nonsense', '100-continue', '100-CONTINUE', '100-continue, nonsense'])(
    'a client that expects %s is answered',
    async (expect_) => {
      const stream = begin('/v1/collections/c/search', null, { headers: { expect: expect_ } });
      const invited = new Promise<void>((done) => stream.once('continue', done));
      if (expect_.toLowerCase() === '100-continue') await invited;
      stream.end(JSON.stringify({ vector: [1, 2], k: 3 }));
      expect(JSON.parse(await textOf(stream)).data.results).toHaveLength(3);
    },
  );

  test('what is no HTTP/2 after the preface ends its connection only', async () => {
    const connection = await RawConnection.openSecured({ ...target.door, protocol: 'h2' });
    await connection.send(Buffer.concat([PREFACE, Buffer.from('nonsense'.repeat(100))]));
    await connection.closed();
    dataOf(await api.get('/v1/collections/c'));
  });

  test.each([
    ['in one piece', [beginning()]],
    ['in three', [PREFACE.subarray(0, 8), PREFACE.subarray(8, 20), PREFACE.subarray(20)]],
  ])(
    'HTTP/2 without TLS, or where HTTP/1.1 was chosen, is told so at once, in its own words: %s',
    async (_how, pieces) => {
      for (const connection of [
        await RawConnection.open(target),
        await RawConnection.openSecured({ ...target.door, protocol: 'http/1.1' }),
      ]) {
        for (const piece of pieces) {
          await connection.send(piece);
          await new Promise((next) => setImmediate(next));
        }
        expect(await connection.until(/HTTP\/1.1$/)).toContain('this port speaks HTTP/2 over TLS only: use HTTP/1.1');
        connection.socket.end();
        await connection.closed();
      }
      const session = connect(target.baseUrl);
      session.on('error', () => undefined);
      expect(await new Promise((done) => session.once('goaway', done))).toBe(constants.NGHTTP2_HTTP_1_1_REQUIRED);
      const beside = await RawConnection.open(target);
      await beside.send(`GET /v1/health HTTP/1.1\r\nx-api-key: ${target.adminKey}\r\n\r\n`);
      await beside.until(/"status":"success"/);
      await beside.send(PREFACE);
      expect(await beside.closed()).not.toContain('over TLS only');
    },
  );

  describe('whose streams end in the piece that they begin in', () => {
    test.each(Object.keys(ENDINGS))('behind each special request, by %s: nobody else notices', async (ending) => {
      const requests = Object.values(specialRequests(target.adminKey));
      for (const flags of [FLAGS.endHeaders, FLAGS.endHeaders | FLAGS.endStream]) {
        for (const fields of requests) {
          const connection = await RawConnection.openSecured({ ...target.door, protocol: 'h2' });
          const after = ENDINGS[ending](1);
          await connection.send(
            Buffer.concat([beginning(), headersOf(1, fields, flags), ...after.filter((each) => each !== null)]),
          );
          if (after.includes(null)) connection.socket.destroy();
          else await connection.send(frameOf(TYPES.ping, { content: Buffer.alloc(8) }));
          // The connection is there, or was said goodbye to, or ended.
          await Promise.race([connection.closed(), connection.until(/\0\0\x08\x06\x01|\0\0[^]\x07\0\0\0\0\0/)]);
          connection.socket.destroy();
        }
      }
      dataOf(await api.get('/v1/collections/c'));
      expect(target.faults).toEqual([]);
    });
  });

  test('a client that cancels all that it asks for leaves nothing behind', async () => {
    const before = target.answered.length;
    const streams = Array.from({ length: 100 }, () =>
      begin('/v1/collections/c/search', JSON.stringify({ vector: [1, 2], k: 50 })),
    );
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
