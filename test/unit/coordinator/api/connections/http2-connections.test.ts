import { type AddressInfo, connect, createServer } from 'node:net';
import { Http2Connections } from '../../../../../coordinator/api/connections/http2-connections';
import { ListenerGuard } from '../../../../../shared/base/process/listener-guard';
import { beginning, FLAGS, frameOf, goAwayOf, headersOf, resetOf, TYPES } from '../../../../support/http/http2-frames';
import { watchEarlyResets } from '../../../../support/http/http2-resets';

/** Connections of HTTP/2 without TLS, whose clients send what no library does. */

const faults: unknown[] = [];
let serve: (respond: { head: (status: number) => void; end: (text?: string) => void; destroy: () => void }) => void;

const connections = new Http2Connections({
  serve: (_request, response) =>
    serve({
      head: (status) => void response.writeHead(status, {}),
      end: (text = '') => void response.end(text),
      destroy: () => void response.destroy(),
    }),
  idleTimeoutMs: 60_000,
  pace: { stallTimeoutMs: 60_000, stallBytesPerSecond: 0 },
  headerBytesMax: 16_384,
  guard: new ListenerGuard((error) => faults.push(error)),
});
const server = createServer((socket) => {
  socket.on('error', () => undefined);
  connections.take(socket);
});

beforeAll(() => new Promise<void>((done) => server.listen(0, '127.0.0.1', done)));
afterAll(() => new Promise((done) => server.close(done)));

const post = (id: number, ends = false): Buffer =>
  headersOf(
    id,
    [
      [':method', 'POST'],
      [':path', '/'],
      [':scheme', 'https'],
      [':authority', 'a'],
    ],
    FLAGS.endHeaders | (ends ? FLAGS.endStream : 0),
  );

/** Sends these frames in one piece, and waits until the connection is over. */
function send(frames: Buffer[]): Promise<void> {
  return new Promise((done) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => undefined).on('close', () => done());
    socket.resume();
    socket.end(Buffer.concat([beginning(), ...frames]));
  });
}

test('nothing that a client sends has a stream ended while the library reads it', async () => {
  const pieces: Record<string, Buffer[]> = {
    'a goodbye between requests': [post(1), goAwayOf(0), post(3), post(5, true)],
    'a goodbye because of an error': [post(1), goAwayOf(0, 2), post(3)],
    'a request that is reset': [post(1), resetOf(1), post(3)],
    'data of a request that is over': [
      post(1),
      post(3, true),
      frameOf(TYPES.data, { stream: 3, content: Buffer.alloc(20) }),
      post(5),
    ],
    'a window that is too large': [
      post(1),
      frameOf(TYPES.windowUpdate, { content: Buffer.from([0x7f, 0xff, 0xff, 0xff]) }),
      post(3),
    ],
    'a frame of the other side': [
      post(1),
      post(3),
      frameOf(TYPES.pushPromise, { flags: FLAGS.endHeaders, stream: 1, content: Buffer.from([0, 0, 0, 2]) }),
      post(5),
    ],
    'settings that are none': [
      post(1),
      frameOf(TYPES.settings, { content: Buffer.from([0, 4, 0xff, 0xff, 0xff, 0xff]) }),
      post(3),
    ],
  };
  const early: string[] = [];
  let sent = '';
  const endWatch = await watchEarlyResets((stack) => early.push(`${sent}: ${stack}`));
  let turn = 0;
  serve = ({ head, end, destroy }) => {
    const how = (turn += 1) % 3;
    if (how === 0) return destroy();
    head(how === 1 ? 204 : 200);
    end(how === 1 ? '' : 'fine');
  };
  try {
    for (const [name, frames] of Object.entries(pieces)) {
      sent = name;
      await send(frames);
    }
  } finally {
    endWatch();
  }
  expect(early).toEqual([]);
  expect(faults).toEqual([]);
});
