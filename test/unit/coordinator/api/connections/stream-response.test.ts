import { EventEmitter } from 'node:events';
import type { ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { StreamResponse } from '../../../../../coordinator/api/connections/stream-response';
import { ListenerGuard } from '../../../../../shared/base/process/listener-guard';

/** A stream that throws, as Node's does, when it is used after its end. */
class Stream extends EventEmitter {
  destroyed = false;
  closed = false;
  headersSent = false;
  endAfterHeaders = true;
  readableEnded = true;
  writableLength = 0;
  calls: unknown[][] = [];
  faults: unknown[] = [];
  respond(headers: object, options: object): void {
    this.call('respond', headers, options);
    this.headersSent = true;
  }

  additionalHeaders = (headers: object): void => this.call('additionalHeaders', headers);
  write = (text: string): void => this.call('write', text);
  end = (text?: string): void => this.call('end', text);
  sendTrailers = (): void => this.call('sendTrailers');
  close = (code: number): void => this.call('close', code);

  private call(...call: unknown[]): void {
    if (this.destroyed || this.closed) throw new Error('ERR_HTTP2_INVALID_STREAM');
    this.calls.push(call);
  }
}

function answerTo(stream: Stream, isHead = false): StreamResponse {
  return new StreamResponse(stream as unknown as ServerHttp2Stream, {} as Socket, {
    isHead,
    leave: () => stream.calls.push(['leave']),
    guard: new ListenerGuard((error) => stream.faults.push(error)),
  });
}

/** What is put off is done by then. */
const later = () => new Promise((wake) => setImmediate(wake));

const responded = (stream: Stream): unknown => stream.calls.find(([name]) => name === 'respond')?.[1];

test.each([
  ['nothing', [], {}],
  ['headers', [{ A: '1', b: 2 }], { a: '1', b: 2 }],
  ['a message', ['message'], {}],
  ['a message and headers', ['message', { a: '1' }], { a: '1' }],
  ['names and values in turns', [['A', '1', 'b', '2']], { a: '1', b: '2' }],
  [
    'pairs',
    [
      [
        ['A', '1'],
        ['b', '2'],
      ],
    ],
    { a: '1', b: '2' },
  ],
  [
    'what belongs to connections',
    [{ 'Transfer-Encoding': 'chunked', 'keep-alive': 'timeout=1', upgrade: 'x', a: '1', b: undefined }],
    { a: '1' },
  ],
])('writeHead takes %s', (_what, head, expected) => {
  const stream = new Stream();
  answerTo(stream)
    .writeHead(404, ...(head as []))
    .end('text');
  expect(responded(stream)).toEqual({ ...expected, ':status': 404 });
});

test('a head that nobody wrote is that of the status', () => {
  const stream = new Stream();
  answerTo(stream).end('text');
  expect(responded(stream)).toEqual({ ':status': 200 });
  expect(stream.calls.at(-1)).toEqual(['end', 'text']);
});

test('the answer to HEAD has no body, whatever is written, and is sent when the library is not reading', async () => {
  const stream = new Stream();
  const answer = answerTo(stream, true);
  expect(answer.write('text')).toBe(true);
  answer.end('text');
  expect(stream.calls).toEqual([]);
  expect(answer.headersSent).toBe(true);
  await later();
  expect(stream.calls).toEqual([['respond', { ':status': 200 }, { endStream: true }]]);
});

test.each(['destroyed', 'closed'] as const)('to a stream that is %s, nothing is written', async (how) => {
  const uses: ((answer: StreamResponse) => unknown)[] = [
    (answer) => answer.writeContinue(),
    (answer) => answer.writeHead(200, { a: '1' }),
    (answer) => answer.write('text'),
    (answer) => answer.end('text'),
    (answer) => answer.endBeforeRequest('text'),
    (answer) => answer.askForHttp1(),
    (answer) => answer.destroy(),
  ];
  for (const before of [(): void => undefined, (answer: StreamResponse): unknown => answer.writeHead(200)]) {
    for (const use of uses) {
      const stream = new Stream();
      const answer = answerTo(stream);
      before(answer);
      stream.calls = [];
      stream[how] = true;
      use(answer);
      stream.emit('wantTrailers');
      await later();
      expect(stream.calls).toEqual([]);
      expect(answer.destroyed).toBe(true);
    }
  }
});

test('connection: close ends the connection when its answers are sent', async () => {
  const stream = new Stream();
  answerTo(stream).writeHead(200, { connection: 'close' });
  await later();
  expect(stream.calls.map(([name]) => name)).toEqual(['respond', 'leave']);
  expect(responded(stream)).toEqual({ ':status': 200 });
});

test('an answer that is broken off is reset when the library is not reading, and takes nothing more', async () => {
  const stream = new Stream();
  const answer = answerTo(stream);
  answer.destroy();
  answer.end('text');
  expect([answer.destroyed, stream.calls]).toEqual([true, []]);
  await later();
  expect(stream.calls).toEqual([['close', 2]]);
});

test('a head that can not be sent in its later turn breaks off its stream alone', async () => {
  const stream = new Stream();
  const fault = new Error('ERR_HTTP2_INVALID_HEADER_VALUE');
  stream.respond = () => {
    throw fault;
  };
  const answer = answerTo(stream, true).writeHead(200).end();
  await later();
  expect(stream.faults).toEqual([fault]);
  expect(stream.calls).toEqual([['close', 2]]);
  expect(answer.destroyed).toBe(true);
});
