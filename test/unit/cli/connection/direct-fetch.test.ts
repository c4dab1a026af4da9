import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { directFetch } from '../../../../cli/connection/direct-fetch';

let server: Server;
let url: string;
const bodies: Buffer[] = [];

beforeAll(async () => {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.url === '/never') return;
    bodies.push(await buffer(request));
    const { method, headers } = request;
    if (request.url === '/empty') response.writeHead(204).end();
    else if (request.url === '/cut')
      response.writeHead(200, { 'content-length': '100' }).write('half', () => response.destroy());
    else
      response.writeHead(429, { 'retry-after': '3', location: '/elsewhere' }).end(
        JSON.stringify({
          method,
          key: headers['x-api-key'],
          bytes: headers['content-length'],
          chunked: headers['transfer-encoding'],
        }),
      );
  };
  server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test('bytes are sent as they are, and the answer is one of fetch', async () => {
  const body = Buffer.from('{"text":"Zürich – 東京 \\ud800"}');
  const response = await directFetch(`${url}/x`, { method: 'POST', headers: { 'x-api-key': 'k' }, body });
  expect(response.status).toBe(429);
  expect(response.headers.get('retry-after')).toBe('3');
  expect(await response.json()).toEqual({ method: 'POST', key: 'k', bytes: String(body.length) });
  expect(bodies.at(-1)).toEqual(body);
});

test('an answer without a body, and a request without bytes, are as with fetch', async () => {
  const empty = await directFetch(`${url}/empty`, { method: 'POST', body: Buffer.from('{}') });
  expect([empty.status, await empty.text()]).toEqual([204, '']);
  expect((await (await directFetch(`${url}/x`)).json()) as unknown).toMatchObject({ method: 'GET' });
});

test('an answer that is cut off, an address that nobody listens on and a signal reject', async () => {
  const body = Buffer.from('{}');
  await expect(directFetch(`${url}/cut`, { method: 'POST', body })).rejects.toThrow(/aborted/);
  await expect(directFetch('http://127.0.0.1:1/', { method: 'POST', body })).rejects.toMatchObject({
    code: 'ECONNREFUSED',
  });
  const stop = new AbortController();
  const pending = directFetch(`${url}/never`, { method: 'POST', body, signal: stop.signal });
  setImmediate(() => stop.abort());
  await expect(pending).rejects.toMatchObject({ name: 'AbortError' });
});
