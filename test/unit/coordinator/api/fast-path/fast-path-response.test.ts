import type { Socket } from 'node:net';
import { AnswerRoom } from '../../../../../coordinator/api/load/answer-room';
import { FastPathResponse } from '../../../../../coordinator/api/fast-path/fast-path-response';

/** What an answer gives to the system, and what to the stream of its connection. */

class PlainSocket {
  destroyed = false;
  writableLength = 0;
  readonly written: Buffer[] = [];

  write(bytes: string | Buffer, encoding?: BufferEncoding | (() => void), done?: () => void): boolean {
    this.written.push(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    if (typeof encoding === 'function') encoding();
    else done?.();
    return true;
  }
}

/** An answer with a body of 1,000 characters, of which the system takes `taken` bytes at once. */
function answered({
  taken = 0,
  waiting = 0,
  handle = 7,
  header = 'x',
}: {
  taken?: number;
  waiting?: number;
  handle?: number;
  header?: string;
}): { sent: Buffer; streamed: number; ends: number } {
  const socket = new PlainSocket();
  const given: Buffer[] = [];
  let ends = 0;
  socket.writableLength = waiting;
  const room = new AnswerRoom({
    writeHits: (_hits, target, at) =>
      at + Buffer.from(target.buffer, target.byteOffset, target.length).write('1'.repeat(998), at),
    sendNow: (to, bytes, from, end) => {
      expect(to).toBe(7);
      given.push(Buffer.from(bytes.subarray(from, Math.min(end, from + taken))));
      return given[0].length;
    },
  });
  expect(room.write('<', Buffer.alloc(0), '>')).toBe(true);
  const response = new FastPathResponse(
    socket as unknown as Socket,
    'Keep-Alive: timeout=65\r\n',
    () => (ends += 1),
    handle,
  );
  response.writeHead(200, { 'x-header': header, 'content-length': room.length });
  response.endWith(room);
  expect(response.writableEnded).toBe(true);
  return {
    sent: Buffer.concat([...given, ...socket.written]),
    streamed: socket.written.reduce((sum, { length }) => sum + length, 0),
    ends,
  };
}

const ANSWER =
  /^HTTP\/1\.1 200 OK\r\nx-header: x+\r\ncontent-length: 1000\r\nDate: [^\r]+\r\nConnection: keep-alive\r\nKeep-Alive: timeout=65\r\n\r\n<1{998}>$/;

test.each([0, 1, 100, 400, 1100])('an answer of which %d bytes are taken at once is sent whole, once', (taken) => {
  const { sent, streamed, ends } = answered({ taken });
  expect(sent.toString('latin1')).toMatch(ANSWER);
  expect(streamed).toBe(sent.length - taken);
  expect(ends).toBe(1);
});

test('one that is taken as a whole needs no stream', () => {
  const { sent, streamed, ends } = answered({ taken: 10_000 });
  expect(sent.toString('latin1')).toMatch(ANSWER);
  expect(streamed).toBe(0);
  expect(ends).toBe(1);
});

test.each([{ waiting: 1 }, { handle: -1 }])(
  'behind what waits, and where there is no handle, all goes to the stream: %j',
  (where) => {
    const { sent, streamed } = answered({ taken: 10_000, ...where });
    expect(sent.toString('latin1')).toMatch(ANSWER);
    expect(streamed).toBe(sent.length);
  },
);

test('a head that has no room goes before', () => {
  const { sent } = answered({ taken: 600, header: 'x'.repeat(5000) });
  expect(sent.toString('latin1').length).toBeGreaterThan(6000);
});
