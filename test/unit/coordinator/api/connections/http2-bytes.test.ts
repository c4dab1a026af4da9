import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { Http2Bytes } from '../../../../../coordinator/api/connections/http2-bytes';
import { RequestTurns } from '../../../../../coordinator/api/connections/request-turns';
import { runSeed, seededRandom } from '../../../../support/values/random';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const GOAWAY = 7;

function frame(type: number, content: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(content.length, 0, 3);
  head[3] = type;
  return Buffer.concat([head, content]);
}

/** A connection in memory. */
function connection(): { socket: Socket; sent: Buffer[]; paused: () => boolean } {
  const sent: Buffer[] = [];
  const socket = new Duplex({
    read: () => undefined,
    write: (bytes: Buffer, _encoding, done) => {
      sent.push(bytes);
      done();
    },
  });
  return {
    socket: Object.assign(socket as unknown as Socket, { bytesWritten: 0 }),
    sent,
    paused: () => socket.isPaused(),
  };
}

const PACE = { stallTimeoutMs: 1_000, stallBytesPerSecond: 100 };

const settled = () => new Promise((wake) => setImmediate(wake));

test('passes on what a client sends, wherever it is cut, but for its GOAWAY', async () => {
  const random = seededRandom(runSeed('bytes of HTTP/2'));
  for (let round = 0; round < 300; round += 1) {
    const frames = Array.from({ length: 1 + Math.floor(random() * 8) }, () => {
      const type = random() < 0.4 ? GOAWAY : Math.floor(random() * 11);
      return frame(
        type,
        Buffer.from(Array.from({ length: Math.floor(random() ** 3 * 400) }, () => Math.floor(random() * 256))),
      );
    });
    const all = Buffer.concat([PREFACE, ...frames]);
    const { socket } = connection();
    const bytes = new Http2Bytes(socket);
    const passed: Buffer[] = [];
    bytes.on('data', (piece: Buffer) => passed.push(piece));
    for (let at = 0; at < all.length;) {
      const end = at + 1 + Math.floor(random() ** 4 * all.length);
      socket.push(all.subarray(at, end));
      at = end;
      if (random() < 0.3) await settled();
    }
    await settled();
    expect(Buffer.concat(passed)).toEqual(Buffer.concat([PREFACE, ...frames.filter((one) => one[3] !== GOAWAY)]));
    bytes.destroy();
  }
});

test('requests that come in one piece are read in several turns, in order, and then what follows', async () => {
  const { socket, paused } = connection();
  const bytes = new Http2Bytes(socket);
  const HEADERS = 1;
  const frames = Array.from({ length: 100 }, (_, i) => [
    frame(HEADERS, Buffer.alloc(30, i)),
    frame(i % 3 === 0 ? GOAWAY : 3, Buffer.alloc(4, i)),
  ]).flat();
  const last = frame(HEADERS, Buffer.alloc(5, 101));
  const turns: number[] = [];
  const passed: Buffer[] = [];
  bytes.on('data', (part: Buffer) => passed.push(part));
  const ended = new Promise((done) => bytes.once('end', done));
  socket.push(Buffer.concat([PREFACE, ...frames]));
  socket.push(last);
  socket.push(null);
  for (let turn = 0; turn < 20; turn += 1) {
    await settled();
    turns.push(Buffer.concat(passed).length);
    if (turn === 0) expect(paused()).toBe(true);
  }
  await ended;
  const wanted = Buffer.concat([PREFACE, ...[...frames, last].filter((one) => one[3] !== GOAWAY)]);
  expect(Buffer.concat(passed)).toEqual(wanted);
  // Sixteen requests a turn, of 39 bytes with what follows each.
  expect(new Set(turns).size).toBeGreaterThanOrEqual(6);
  expect(turns[0]).toBeLessThan(wanted.length / 4);
});

test.each([3, 50])('%i connections share the requests of a turn, and none waits for another', async (count) => {
  const turns = new RequestTurns();
  const request = frame(1, Buffer.alloc(30));
  const passed = Array.from({ length: count }, () => 0);
  const lines = passed.map((_none, i) => {
    const { socket } = connection();
    const bytes = new Http2Bytes(socket, turns);
    bytes.on('data', (part: Buffer) => (passed[i] += part.length));
    socket.push(Buffer.concat([PREFACE, ...Array.from({ length: 32 }, () => request)]));
    return bytes;
  });
  const requests = (): number[] => passed.map((bytes) => Math.max(0, bytes - PREFACE.length) / request.length);
  const sum = (): number => requests().reduce((all, one) => all + one, 0);
  let before = 0;
  let round = 0;
  for (; sum() < 32 * count; round += 1) {
    await settled();
    expect(sum() - before).toBeLessThanOrEqual(2 * 16);
    before = sum();
    // The first ones have what nobody else had asked for yet.
    expect(Math.max(...requests()) - Math.min(...requests())).toBeLessThanOrEqual(16 + 5);
  }
  expect(round).toBeGreaterThanOrEqual(count);
  for (const bytes of lines) bytes.destroy();
});

test('reads no more than is taken, sends what it is given in order, and ends with its connection', async () => {
  const { socket, sent, paused } = connection();
  const bytes = new Http2Bytes(socket);
  const piece = Buffer.concat([PREFACE, frame(0, Buffer.alloc(100_000, 1))]);
  socket.push(piece);
  await settled();
  expect(paused()).toBe(true);
  let taken = 0;
  bytes.on('data', (part: Buffer) => (taken += part.length));
  await settled();
  expect(taken).toBe(piece.length);
  expect(paused()).toBe(false);
  bytes.cork();
  for (const part of ['a', 'b', 'c']) bytes.write(part);
  bytes.uncork();
  await settled();
  expect(Buffer.concat(sent).toString()).toBe('abc');
  const closed = new Promise((done) => bytes.once('close', done));
  socket.destroy(new Error('reset'));
  await closed;
  expect(bytes.destroyed).toBe(true);
});

test('a finished connection sends what it was given before, takes no more, and is cut when the client does not end it', async () => {
  const { socket, sent } = connection();
  const bytes = new Http2Bytes(socket);
  let taken = 0;
  bytes.on('data', (part: Buffer) => (taken += part.length));
  for (const part of ['a', 'b']) bytes.write(part);
  bytes.finish({ stallTimeoutMs: 20, stallBytesPerSecond: 0 });
  bytes.write('c');
  socket.push(PREFACE);
  const closed = new Promise((done) => socket.once('close', done));
  await closed;
  expect(Buffer.concat(sent).toString()).toBe('ab');
  expect(taken).toBe(0);
  expect(socket.writableFinished).toBe(true);
});

test('a finished connection stays as long as the client takes what it must take', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
  try {
    const { socket } = connection();
    const taken = { bytesWritten: 0, writeQueueSize: 5_000 };
    Object.assign(socket, { _handle: taken });
    new Http2Bytes(socket).finish(PACE);
    for (let second = 0; second < 20; second += 1) {
      taken.bytesWritten += 100;
      jest.advanceTimersByTime(1_000);
      expect(socket.destroyed).toBe(false);
    }
    taken.bytesWritten += 99;
    jest.advanceTimersByTime(1_000);
    expect(socket.destroyed).toBe(true);
  } finally {
    jest.useRealTimers();
  }
});

test('of a connection that is closed already, nothing is left behind', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
  try {
    const { socket } = connection();
    const bytes = new Http2Bytes(socket);
    socket.destroy();
    await settled();
    bytes.finish(PACE);
    expect(jest.getTimerCount()).toBe(0);
  } finally {
    jest.useRealTimers();
  }
});

test('a connection whose HTTP/2 is destroyed is closed', async () => {
  const { socket } = connection();
  const bytes = new Http2Bytes(socket);
  bytes.destroy();
  await settled();
  expect(socket.destroyed).toBe(true);
});
