import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { VectorView } from '../../coordinator/service/service';
import { eventually } from '../support/eventually';
import { type PlainServer, startPlainServer } from '../support/servers/plain-server';

const CLIENTS = 20;
const TEXT_CHARACTERS = 1024 * 1024;
/** Of one item each, so that what waits has taken all of its page. */
const PAGES = 100;
/** The connection may have the last text, which is counted. Nothing else may be held. */
const HEAP_BYTES_MAX = 1.5 * CLIENTS * TEXT_CHARACTERS;

let server: PlainServer;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.stop();
});

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Pages of long items, which are noted in `made`. */
async function* longItems(made: WeakRef<VectorView>[]): AsyncGenerator<VectorView[]> {
  for (let page = 0; page < PAGES; page += 1) {
    yield [
      noted(made, { externalId: 'long', metadata: '{}', text: Buffer.alloc(TEXT_CHARACTERS, 'a').toString('latin1') }),
    ];
  }
}

function noted(made: WeakRef<VectorView>[], item: VectorView): VectorView {
  made.push(new WeakRef(item));
  return item;
}

function ask(head: string, body: string): void {
  const socket = connect(Number(new URL(server.baseUrl).port), '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(
    `${head} HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${server.adminKey}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
}

test.each<[string, string, string, (made: () => AsyncGenerator<VectorView[]>) => void]>([
  [
    'fetch',
    'POST /v1/collections/c/vectors/fetch',
    '{"ids":["long"]}',
    (pages) => jest.spyOn(server.service.vectors, 'fetch').mockImplementation(async () => pages()),
  ],
  [
    'scroll',
    'POST /v1/collections/c/scroll',
    '{}',
    (pages) =>
      jest
        .spyOn(server.service.vectors, 'scroll')
        .mockImplementation(async () => ({ pages: pages(), nextCursor: () => null })),
  ],
])(
  'an answer to %s that waits for its reader holds no item of the pages that it took',
  async (_name, head, body, answerWith) => {
    server = await startPlainServer({ RATE_LIMIT_PER_MINUTE: '0' });
    const answers: WeakRef<VectorView>[][] = [];
    answerWith(() => {
      const made: WeakRef<VectorView>[] = [];
      answers.push(made);
      return longItems(made);
    });
    collect();
    const beforeBytes = process.memoryUsage().heapUsed;
    for (let i = 0; i < CLIENTS; i += 1) ask(head, body);
    // A collection of garbage takes this thread for long, in which no answer goes on: so they all begin first.
    await eventually('all answers begin', () => answers.filter((made) => made.length > 0).length === CLIENTS);
    let found = '';
    await eventually('all answers wait, and hold little', () => {
      collect();
      const held = answers.flat().filter((item) => item.deref() !== undefined).length;
      const grown = process.memoryUsage().heapUsed - beforeBytes;
      found = `${held} items, ${grown} bytes`;
      return answers.every((made) => made.length < PAGES) && held < CLIENTS / 2 && grown < HEAP_BYTES_MAX;
    }).catch((error: Error) => {
      throw new Error(`${error.message}: ${found}`);
    });
  },
);
