import { ApiClient, dataOf } from '../support/targets/api-client';
import { type PlainServer, startPlainServer } from '../support/servers/plain-server';
import { RawConnection } from '../support/http/raw-connection';

/** Clients that send the next request before they have the answer to the last. */

const REQUESTS = 200;
const ANSWER = /HTTP\/1\.1 200 OK/g;

let target: PlainServer;
let api: ApiClient;
/** Searches at work: at the moment, and at most so far. */
const running = { now: 0, peak: 0 };

beforeAll(async () => {
  target = await startPlainServer();
  api = new ApiClient(target);
  dataOf(await api.post('/v1/collections', { name: 'c', dim: 2 }));
  const search = target.service.search.search.bind(target.service.search);
  target.service.search.search = async (...given) => {
    running.peak = Math.max(running.peak, ++running.now);
    await new Promise((next) => setImmediate(next));
    running.now -= 1;
    return search(...given);
  };
});
afterAll(() => target?.stop());
beforeEach(() => (running.peak = 0));

function searchOf(k: number): string {
  const body = JSON.stringify({ vector: [1, 2], k });
  return `POST /v1/collections/c/search HTTP/1.1\r\nx-api-key: ${target.adminKey}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

test('they are served one after the other and all answered, in their order', async () => {
  const connection = await RawConnection.open(target);
  const ks = Array.from({ length: REQUESTS }, (_, i) => 1 + i);
  await connection.send(ks.map(searchOf).join(''));
  const text = await connection.until(new RegExp(`"k":${REQUESTS},`));
  connection.socket.destroy();
  expect([...text.matchAll(/"k":(\d+),/g)].map((found) => Number(found[1]))).toEqual(ks);
  expect(text.match(ANSWER)).toHaveLength(REQUESTS);
  expect(running.peak).toBe(1);
});

test('others have their turn between any two of them', async () => {
  const greedy = await RawConnection.open(target);
  await greedy.send(searchOf(5).repeat(REQUESTS));
  await greedy.until(/"k":5,/);
  expect(dataOf(await api.post('/v1/collections/c/search', { vector: [1, 2], k: 3 })).k).toBe(3);
  expect(greedy.text.match(ANSWER)?.length ?? 0).toBeLessThan(REQUESTS);
  greedy.socket.destroy();
});

test('a client that goes away with requests waiting leaves none of them behind', async () => {
  const connection = await RawConnection.open(target);
  await connection.send(searchOf(5).repeat(REQUESTS));
  await connection.until(/"k":5,/);
  connection.socket.destroy();
  await connection.closed();
  expect(dataOf(await api.post('/v1/collections/c/search', { vector: [1, 2], k: 3 })).k).toBe(3);
  expect(running.now).toBe(0);
});

test('a client that sends far more than it takes is cut off, and others are served', async () => {
  const connection = await RawConnection.open(target);
  const endless = connection.send(searchOf(5).repeat(20_000));
  expect((await connection.closed()).match(ANSWER)?.length ?? 0).toBeLessThan(20_000);
  await Promise.race([endless, connection.closed()]);
  expect(dataOf(await api.post('/v1/collections/c/search', { vector: [1, 2], k: 3 })).k).toBe(3);
  expect(running.peak).toBeLessThanOrEqual(2);
});

test('what was read of a client that is cut off is not parsed further', async () => {
  let parsed = 0;
  const count = (): void => void (parsed += 1);
  target.server.on('request', count);
  const connection = await RawConnection.open(target);
  const health = 'GET /v1/health HTTP/1.1\r\n\r\n';
  const endless = connection.send(health.repeat(20_000));
  await Promise.race([endless, connection.closed()]);
  await connection.closed();
  target.server.off('request', count);
  // One read holds some 2,400 of them; some may be answered before the second one.
  expect(parsed).toBeLessThan(1_000);
});

test('a body in the middle of the row may come late', async () => {
  const connection = await RawConnection.open(target);
  const [head, rest] = [searchOf(1) + searchOf(2).slice(0, -5), searchOf(2).slice(-5) + searchOf(3)];
  await connection.send(head);
  await connection.until(/"k":1,/);
  await connection.send(rest);
  await connection.until(/"k":2,[^]*"k":3,/);
  connection.socket.destroy();
});
