import { EventEmitter } from 'node:events';
import { ListenerGuard } from '../../../../../shared/base/process/listener-guard';

let nowMs: number;
let told: [unknown, number][];
let guard: ListenerGuard;
beforeEach(() => {
  nowMs = 0;
  told = [];
  guard = new ListenerGuard(
    (error, untold) => told.push([error, untold]),
    () => nowMs,
  );
});

test('a listener lets no error out, and what it was about is broken off', () => {
  const broken: string[] = [];
  const error = new Error('thrown');
  const emitter = new EventEmitter();
  emitter.on(
    'request',
    guard.around(
      (_name: string) => {
        throw error;
      },
      (name) => broken.push(name),
    ),
  );
  emitter.emit('request', 'a');
  expect(broken).toEqual(['a']);
  expect(told).toEqual([[error, 0]]);
});

test('nor does one that answers a promise', async () => {
  const error = new Error('rejected');
  await new Promise<void>((done) => guard.run(() => Promise.reject(error), done));
  expect(told).toEqual([[error, 0]]);
});

test('nor what breaks off, nor who is told', () => {
  const [first, second] = [new Error('first'), new Error('second')];
  const fails = (error: Error) => (): never => {
    throw error;
  };
  guard.run(fails(first), fails(second));
  nowMs += 1_000;
  guard.run(fails(first), () => undefined);
  expect(told).toEqual([
    [first, 0],
    [first, 1],
  ]);
  new ListenerGuard(fails(second)).run(fails(first), () => undefined);
});

test('many errors are told once in a while, with how many there were', () => {
  const throws = (): never => {
    throw new Error('again');
  };
  for (let i = 0; i < 50; i += 1) guard.run(throws, () => undefined);
  nowMs += 1_000;
  guard.run(throws, () => undefined);
  expect(told.map(([, untold]) => untold)).toEqual([0, 49]);
});
