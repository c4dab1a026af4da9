import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { postJson } from '../../../../../coordinator/models/remote/json-post';
import { underDeadline } from '../../../../../shared/base/time/deadline';

/** Deadlines of calls to servers that never answer. */

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

let server: Server;
let url: string;

beforeAll(async () => {
  // One answers nothing, the other one never ends.
  server = createServer((request, answer) => void (request.url === '/begins' && answer.writeHead(200).write('[')));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

test.each(['/silent', '/begins'])('a call of %s ends in time, however often memory is collected', async (path) => {
  const call = (): Promise<unknown> =>
    postJson({
      url: url + path,
      apiKey: '',
      body: {},
      bytesMax: 100,
      timeoutMs: 300,
      signal: new AbortController().signal,
    });
  let ended = 0;
  const calls = Array.from({ length: 10 }, () => call().finally(() => (ended += 1)));
  const outcomes = Promise.allSettled(calls);
  while (ended < calls.length) {
    collect();
    await pause(5);
  }
  for (const outcome of await outcomes)
    expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'TimeoutError' } });
});

test('who stops it, before or while it runs, ends it with their reason', async () => {
  const stop = new AbortController();
  const wait = (signal: AbortSignal): Promise<never> =>
    new Promise((_done, fail) => {
      if (signal.aborted) fail(signal.reason as Error);
      signal.addEventListener('abort', () => fail(signal.reason as Error));
    });
  const running = underDeadline(60_000, stop.signal, wait);
  stop.abort(new Error('stopped'));
  await expect(running).rejects.toThrow('stopped');
  await expect(underDeadline(60_000, stop.signal, wait)).rejects.toThrow('stopped');
  expect(await underDeadline(60_000, stop.signal, async () => 'done')).toBe('done');
});
