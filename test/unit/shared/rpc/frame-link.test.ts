import { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import { FRAME_TYPES, FrameLink } from '../../../../shared/rpc/frame-link';

/** A connection whose other end is the test. */
class OtherEnd extends Duplex {
  readonly sent: Buffer[] = [];

  setNoDelay(): void {}

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.sent.push(chunk);
    done();
  }

  /** The types of what was sent since it was asked last. */
  types(): number[] {
    return this.sent.splice(0).map((frame) => frame[4]);
  }
}

function link(frame: (type: number, bytes: Buffer) => void = () => undefined) {
  const socket = new OtherEnd();
  const ended: string[] = [];
  return { socket, ended, link: new FrameLink(socket as unknown as Socket, { frame, ended: (reason) => void ended.push(reason) }) };
}

const settled = (): Promise<void> => new Promise((done) => jest.requireActual<typeof import('node:timers')>('node:timers').setImmediate(done));

/** Links of one test must have ended before the next one has other timers: all are looked at by one. */
afterEach(async () => {
  await settled();
  jest.useRealTimers();
});

test('a ping is answered, and neither it nor its answer is told', async () => {
  const types: number[] = [];
  const { socket, ended } = link((type) => types.push(type));
  socket.push(Buffer.from([0, 0, 0, 0, FRAME_TYPES.ping, 0, 0, 0, 0, FRAME_TYPES.pong, 1, 0, 0, 0, FRAME_TYPES.hello, 65]));
  await settled();
  expect(socket.types()).toEqual([FRAME_TYPES.pong]);
  expect(types).toEqual([FRAME_TYPES.hello]);
  expect(ended).toEqual([]);
  socket.destroy();
});

test('who says nothing is asked, and cut when that is not answered; who answers stays', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
  const { socket, ended } = link();
  for (let round = 0; round < 3; round += 1) {
    await jest.advanceTimersByTimeAsync(1_400);
    expect(socket.types()).toEqual([FRAME_TYPES.ping]);
    socket.push(Buffer.from([0, 0, 0, 0, FRAME_TYPES.pong]));
    await settled();
    await jest.advanceTimersByTimeAsync(0);
  }
  expect(ended).toEqual([]);
  await jest.advanceTimersByTimeAsync(2_100);
  expect(ended).toEqual([]);
  await jest.advanceTimersByTimeAsync(701);
  expect(ended).toEqual(['the other side says nothing']);
  expect(socket.destroyed).toBe(true);
});

test('what has come while this process stood still is heard before it is judged', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  const { socket, ended } = link();
  jest.advanceTimersByTime(2_800);
  socket.push(Buffer.from([0, 0, 0, 0, FRAME_TYPES.pong]));
  await settled();
  await settled();
  expect(ended).toEqual([]);
  socket.destroy();
});

test('an error in a frame, and an end, end it once with their reason', async () => {
  const broken = link(() => {
    throw new Error('malformed');
  });
  broken.socket.push(Buffer.from([0, 0, 0, 0, FRAME_TYPES.message, 0, 0, 0, 0, FRAME_TYPES.message]));
  await settled();
  expect(broken.ended).toEqual(['malformed']);
  const over = link();
  over.socket.push(null);
  await settled();
  over.socket.destroy();
  await settled();
  expect(over.ended).toEqual(['the other side ended the stream']);
  over.link.send(FRAME_TYPES.message, Buffer.of(1), () => over.ended.push('taken'));
  expect(over.socket.types()).toEqual([]);
});
