import { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import { FRAME_TYPES, FrameLink, FrameReader, frameOf } from '../../../../../shared/wire/frames/frame-link';

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

function link(frame: (type: number, bytes: Buffer) => void = () => undefined, quiet?: 'asks' | 'answers') {
  const socket = new OtherEnd();
  const ended: string[] = [];
  return {
    socket,
    ended,
    link: new FrameLink(socket as unknown as Socket, { frame, ended: (reason) => void ended.push(reason), quiet }),
  };
}

const settled = (): Promise<void> =>
  new Promise((done) => jest.requireActual<typeof import('node:timers')>('node:timers').setImmediate(done));

/** Links of one test must have ended before the next one has other timers: all are looked at by one. */
afterEach(async () => {
  await settled();
  jest.useRealTimers();
});

test('a ping is answered, and neither it nor its answer is told', async () => {
  const types: number[] = [];
  const { socket, ended } = link((type) => types.push(type));
  socket.push(
    Buffer.from([0, 0, 0, 0, FRAME_TYPES.ping, 0, 0, 0, 0, FRAME_TYPES.pong, 1, 0, 0, 0, FRAME_TYPES.hello, 65]),
  );
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

const MESSAGE = Buffer.from([0, 0, 0, 0, FRAME_TYPES.message]);

test.each(['asks', 'answers'] as const)(
  'where messages come seldom by intent, the end that %s asks for no sign of life between them, and later than usual after that',
  async (quiet) => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    const { socket, ended, link: end } = link(() => undefined, quiet);
    end.admit();
    for (let round = 0; round < 5; round += 1) {
      if (quiet === 'asks') end.send(FRAME_TYPES.message, Buffer.of(1));
      socket.push(MESSAGE);
      if (quiet === 'answers') end.send(FRAME_TYPES.message, Buffer.of(1));
      await jest.advanceTimersByTimeAsync(4_800);
      expect(socket.types()).toEqual([FRAME_TYPES.message]);
    }
    await jest.advanceTimersByTimeAsync(2_100);
    expect(socket.types()).toContain(FRAME_TYPES.ping);
    await jest.advanceTimersByTimeAsync(2_100);
    expect(ended).toEqual(['the other side says nothing']);
  },
);

test('there, too, who owes an answer is asked as soon as ever, and who has not been admitted', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
  const [owing, stranger] = [link(() => undefined, 'asks'), link(() => undefined, 'answers')];
  owing.link.admit();
  owing.link.send(FRAME_TYPES.message, Buffer.of(1));
  await jest.advanceTimersByTimeAsync(1_400);
  expect([owing.socket.types(), stranger.socket.types()]).toEqual([
    [FRAME_TYPES.message, FRAME_TYPES.ping],
    [FRAME_TYPES.ping],
  ]);
  await jest.advanceTimersByTimeAsync(1_401);
  expect([owing.ended, stranger.ended]).toEqual([['the other side says nothing'], ['the other side says nothing']]);
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

test('a reader that is ended at a frame answers what follows it, however it came', () => {
  const bytes = Buffer.concat([
    frameOf(FRAME_TYPES.hello, Buffer.from('a')),
    frameOf(FRAME_TYPES.stream, Buffer.from('bc')),
    Buffer.from('what follows'),
  ]);
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const heard: string[] = [];
    const reader = new FrameReader((type, content) => {
      heard.push(content.toString());
      if (type === FRAME_TYPES.stream) reader.end();
    });
    const rest = Buffer.concat([reader.take(bytes.subarray(0, cut)), reader.take(bytes.subarray(cut))]);
    expect([heard, rest.toString()]).toEqual([['a', 'bc'], 'what follows']);
  }
});
