import { FrameSender } from '../../../../../shared/wire/frames/frame-sender';
import { FRAME_BYTES } from '../../../../../shared/wire/streams/message-bounds';

/** What shares a frame, and what goes before what. */

let frames: string[][];
let taken: (() => void)[];
let sender: FrameSender<string[]>;

beforeEach(() => {
  frames = [];
  taken = [];
  sender = new FrameSender<string[]>({
    emptyFrame: () => [],
    write: (frame, done) => {
      frames.push(frame);
      taken.push(done);
    },
    stallMs: 60_000,
    stalled: () => undefined,
  });
});

afterEach(() => sender.close());

const push = (name: string, bytes: number, isAhead?: boolean): void =>
  sender.push({ bytes, addTo: (frame) => void frame.push(name) }, isAhead);
const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

/** Lets the connection take everything, frame by frame. */
async function taking(): Promise<void> {
  await turn();
  while (taken.length > 0) {
    taken.shift()!();
    await turn();
  }
}

test('what is pushed in one turn shares a frame, up to its size', async () => {
  for (const name of ['a', 'b', 'c']) push(name, FRAME_BYTES / 2);
  await taking();
  expect(frames).toEqual([['a', 'b'], ['c']]);
});

test('an entry that is longer than a frame goes alone', async () => {
  push('a', 10);
  push('long', 3 * FRAME_BYTES);
  push('b', 10);
  await taking();
  expect(frames).toEqual([['a'], ['long'], ['b']]);
});

test('what is pushed ahead overtakes what waits, and keeps its own order', async () => {
  for (let i = 0; i < 8; i++) push(`bulk ${i}`, FRAME_BYTES);
  await turn();
  expect(frames).toHaveLength(4);
  push('beat 1', 10, true);
  push('beat 2', 10, true);
  taken.shift()!();
  await turn();
  expect(frames[4]).toEqual(['beat 1', 'beat 2', 'bulk 4']);
  await taking();
  expect(frames.slice(5).flat()).toEqual(['bulk 5', 'bulk 6', 'bulk 7']);
});

test('however much goes ahead, what waits gets its part of each frame', async () => {
  for (let i = 0; i < 4; i++) push(`bulk ${i}`, FRAME_BYTES);
  for (let i = 0; i < 40; i++) push(`small ${i}`, FRAME_BYTES / 4, true);
  await taking();
  expect(frames.slice(0, 4).map((frame) => frame.at(-1))).toEqual(['bulk 0', 'bulk 1', 'bulk 2', 'bulk 3']);
  expect(frames[0]).toEqual(['small 0', 'small 1', 'bulk 0']);
  expect(frames.flat()).toHaveLength(44);
});

test('bytes that wait are those of both', async () => {
  push('a', 100);
  push('b', 20, true);
  expect(sender.queuedBytes).toBe(120);
  await taking();
  expect(sender.queuedBytes).toBe(0);
  await sender.idle();
});
