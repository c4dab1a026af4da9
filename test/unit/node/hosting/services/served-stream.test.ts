import { EventEmitter } from 'node:events';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { ServedStream } from '../../../../../node/hosting/services/served-stream';

/** The signs of life of a stream: frames without answers, while requests run and nothing else is sent. */

const EACH_MS = 250;

let written: string[][];
let stream: ServedStream<string, string[]>;

beforeEach(() => {
  jest.useFakeTimers();
  written = [];
  const call = Object.assign(new EventEmitter(), {
    sendMetadata: () => undefined,
    write: (frame: string[], taken: () => void) => {
      written.push(frame);
      taken();
    },
    end: () => undefined,
    resume: () => undefined,
    isPaused: () => false,
  });
  stream = new ServedStream<string, string[]>({
    call: call as unknown as ServerDuplexStream<string, string[]>,
    emptyFrame: () => [],
    frame: () => undefined,
    ended: () => undefined,
    cut: () => undefined,
    stallMs: 10_000,
    signOfLifeMs: EACH_MS,
  });
});

afterEach(() => jest.useRealTimers());

function answer(text: string): void {
  stream.push({ bytes: text.length, addTo: (frame) => frame.push(text) });
}

test('it tells what waits to be taken, until it ends', () => {
  let held = 0;
  const takers: (() => void)[] = [];
  const call = Object.assign(new EventEmitter(), {
    sendMetadata: () => undefined,
    write: (_frame: string[], taken: () => void) => takers.push(taken),
    end: () => undefined,
    pause: () => undefined,
    resume: () => undefined,
    isPaused: () => false,
  });
  const counted = new ServedStream<string, string[]>({
    call: call as unknown as ServerDuplexStream<string, string[]>,
    emptyFrame: () => [],
    frame: () => undefined,
    ended: () => undefined,
    cut: () => undefined,
    stallMs: 10_000,
    queued: (bytes) => (held += bytes),
  });
  counted.push({ bytes: 100, addTo: () => undefined });
  counted.push({ bytes: 50, addTo: () => undefined });
  expect(held).toBe(150);
  jest.advanceTimersByTime(1);
  takers.shift()!();
  expect(held).toBe(0);
  counted.push({ bytes: 7, addTo: () => undefined });
  call.emit('close');
  expect(held).toBe(0);
});

test('a stream without requests is silent', () => {
  jest.advanceTimersByTime(10_000);
  expect(written).toEqual([]);
});

test('a long request shows life until it is answered, and then nothing more', () => {
  stream.begin();
  jest.advanceTimersByTime(3 * EACH_MS + 1);
  expect(written).toEqual([[], [], []]);
  answer('found');
  stream.finish();
  jest.advanceTimersByTime(10_000);
  expect(written).toEqual([[], [], [], ['found']]);
  expect(jest.getTimerCount()).toBe(0);
});

test('an answer is a sign of life itself', () => {
  stream.begin();
  for (let i = 0; i < 8; i++) {
    stream.begin();
    answer(`${i}`);
    stream.finish();
    jest.advanceTimersByTime(EACH_MS);
  }
  expect(written).toEqual(Array.from({ length: 8 }, (_, i) => [`${i}`]));
});

test('the next long request shows life again', () => {
  stream.begin();
  stream.finish();
  jest.advanceTimersByTime(10_000);
  stream.begin();
  jest.advanceTimersByTime(2 * EACH_MS + 1);
  expect(written).toEqual([[], []]);
});

test('a stream that has ended has no timer', async () => {
  stream.begin();
  const drained = stream.drain();
  stream.finish();
  await drained;
  expect(jest.getTimerCount()).toBe(0);
});

test('what is pushed ahead waits behind what the connection was given, not behind all that waits', () => {
  const frames: string[][] = [];
  const takers: (() => void)[] = [];
  const call = Object.assign(new EventEmitter(), {
    sendMetadata: () => undefined,
    write: (frame: string[], taken: () => void) => {
      frames.push(frame);
      takers.push(taken);
    },
    end: () => undefined,
    pause: () => undefined,
    resume: () => undefined,
    isPaused: () => false,
  });
  const slow = new ServedStream<string, string[]>({
    call: call as unknown as ServerDuplexStream<string, string[]>,
    emptyFrame: () => [],
    frame: () => undefined,
    ended: () => undefined,
    cut: () => undefined,
    stallMs: 10_000,
  });
  const push = (name: string, bytes: number, isAhead: boolean): void =>
    slow.push({ bytes, addTo: (frame) => frame.push(name) }, isAhead);
  for (const name of ['long 1', 'long 2', 'long 3']) push(name, 700_000, false);
  jest.advanceTimersByTime(1);
  expect(frames).toEqual([['long 1']]);
  push('short', 100, true);
  takers.shift()!();
  jest.advanceTimersByTime(1);
  expect(frames.slice(1)).toEqual([['short', 'long 2']]);
  takers.shift()!();
  jest.advanceTimersByTime(1);
  expect(frames.slice(2)).toEqual([['long 3']]);
  call.emit('close');
});
