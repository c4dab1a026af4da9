import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { DirectCalls } from '../../../../../coordinator/api/direct/direct-calls';
import type { FromService } from '../../../../../coordinator/api/direct/direct-messages';
import type { ApiServer } from '../../../../../coordinator/api/http/http-server';

/** Calls as messages, to a server that answers by a function of the test. */

const LONG_MS = 2 ** 31 - 1;

async function opened(answer: (response: ServerResponse) => void) {
  const sent: FromService[] = [];
  const calls = new DirectCalls((message) => sent.push(message));
  const server = Object.assign(new EventEmitter(), {
    answer: (_request: unknown, response: ServerResponse) => answer(response),
  });
  await calls.open(server as unknown as ApiServer);
  const begin = (id: number): void => calls.take(['call', id, 'GET', '/', {}, null]);
  return { calls, sent, begin };
}

test('a close does not wait for the reader of an answer that was sent whole', async () => {
  const { calls, sent, begin } = await opened((response) => {
    response.writeHead(200, {});
    response.write('some');
    response.end('more');
  });
  begin(1);
  expect(sent.map(([kind]) => kind)).toEqual(['head', 'data', 'data', 'over']);
  await calls.close(LONG_MS);
});

test('a close waits for what is not answered', async () => {
  const open: ServerResponse[] = [];
  const { calls, sent, begin } = await opened((response) => void open.push(response));
  begin(1);
  let isClosed = false;
  const closed = calls.close(LONG_MS).then(() => (isClosed = true));
  await new Promise((done) => setImmediate(done));
  expect(isClosed).toBe(false);
  open[0].writeHead(200, {});
  open[0].end('text');
  await closed;
  expect(sent).toEqual([['answer', 1, 200, {}, 'text']]);
});
