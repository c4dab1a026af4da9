import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CommandError, EXIT_CODES } from '../../../../cli/command-error';
import { ItemFindings } from '../../../../cli/migrate/finding';
import { openPeer } from '../../../../cli/migrate/open-peer';
import { PeerHttp } from '../../../../cli/migrate/peer-http';

describe('calls of a peer', () => {
  let server: Server;
  /** Answers of the peer, in order; the last one again and again. */
  let answers: [status: number, text: string, headers?: Record<string, string>][];
  let asked: { headers: Record<string, unknown>; url: string }[];
  const waits: string[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      asked.push({ headers: request.headers, url: request.url! });
      const [status, text, headers] = answers.length > 1 ? answers.shift()! : answers[0];
      response.writeHead(status, { 'retry-after': '0', ...headers }).end(text);
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  });
  afterAll(() => server.close());
  beforeEach(() => {
    asked = [];
    waits.length = 0;
  });

  const http = (patienceMs = 1000): PeerHttp =>
    new PeerHttp({
      url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/prefix/`),
      headers: { 'api-key': 'secret' },
      patienceMs,
      signal: new AbortController().signal,
      onWait: (reason) => waits.push(reason),
    });

  test('what may pass is tried again, with the headers and below the path of the address', async () => {
    answers = [
      [503, 'starting'],
      [429, 'slow'],
      [200, '{"id": 9007199254740993}'],
    ];
    const findings = new ItemFindings();
    expect(await http().get('/things?a=1', findings)).toEqual({ id: '9007199254740993' });
    expect(asked).toEqual(
      Array(3).fill({ url: '/prefix/things?a=1', headers: expect.objectContaining({ 'api-key': 'secret' }) }),
    );
    expect(waits).toEqual([expect.stringContaining('503: starting'), expect.stringContaining('429: slow')]);
    expect(findings.list()).toEqual([expect.objectContaining({ topic: 'numbers', items: 1 })]);
  });

  test('a refusal ends it at once, and is told in the peer’s words without its control characters', async () => {
    answers = [[401, 'no\u001b[2J\nentry']];
    await expect(http().post('/things', {})).rejects.toMatchObject({
      exitCode: EXIT_CODES.denied,
      status: 401,
      message: expect.stringMatching(/POST http:.*\/prefix\/things: HTTP status 401: no \[2J entry$/),
    });
    expect(asked).toHaveLength(1);
  });

  test('patience ends, and what is not JSON is not believed', async () => {
    answers = [[500, 'broken']];
    await expect(http(1).get('/')).rejects.toMatchObject({ status: 500 });
    answers = [[200, '<html>']];
    await expect(http().get('/')).rejects.toThrow(/not JSON: <html>/);
  });

  test('an answer that points elsewhere is not followed, because the key would go along', async () => {
    answers = [[307, '', { location: 'http://127.0.0.1:1/other' }]];
    await expect(http().get('/things')).rejects.toMatchObject({
      status: 307,
      message: expect.stringContaining('it is at http://127.0.0.1:1/other now; give that address'),
    });
    expect(asked).toHaveLength(1);
  });

  test('an answer of another shape is told as such', async () => {
    answers = [[200, '{"result": 7}']];
    const [url, signal] = [
      new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
      new AbortController().signal,
    ];
    for (const peer of ['qdrant', 'chroma', 'weaviate', 'milvus', 'elasticsearch'] as const) {
      const source = openPeer({
        peer,
        url,
        key: null,
        user: null,
        password: null,
        database: null,
        tenant: null,
        where: null,
        patienceMs: 1,
        signal,
      });
      const asking = source.version().then(async () => source.collections());
      await asking.then(
        // Some shapes say that there is nothing.
        (collections) => expect(collections).toEqual([]),
        (error: Error) => expect(error).toBeInstanceOf(CommandError),
      );
    }
  });
});
