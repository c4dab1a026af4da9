import { WritePace } from '../../../../../../node/engine/shard/writing/write-pace';

test('nobody waits before somebody asks for it', () => {
  expect(new WritePace().delayMs(1_000_000, 5)).toBe(0);
});

test('each write waits until those before it are paid for; none is cut in two', () => {
  const pace = new WritePace();
  pace.ask(1_000, 0);
  expect(pace.delayMs(500, 0)).toBe(0);
  expect(pace.delayMs(250, 0)).toBe(500);
  expect(pace.delayMs(1, 100)).toBe(650);
  // Time in which nobody writes is not saved up.
  expect(pace.delayMs(100, 4_000)).toBe(0);
  expect(pace.delayMs(1, 4_000)).toBe(100);
});

test('no write waits for longer than five seconds, and nobody five seconds after it was asked for last', () => {
  const pace = new WritePace();
  pace.ask(1, 0);
  pace.delayMs(1_000, 0);
  expect(pace.delayMs(1, 0)).toBe(5_000);
  expect(pace.delayMs(1, 4_999)).toBe(1_001);
  expect(pace.delayMs(1, 5_000)).toBe(0);
});

test('those who wait go on at once when it ends', async () => {
  const pace = new WritePace();
  pace.ask(1, 0);
  await pace.wait(1_000, 0);
  let gone = 0;
  const waiting = [pace.wait(1, 0), pace.wait(1, 0)].map((one) => one.then(() => (gone += 1)));
  await new Promise((turn) => setImmediate(turn));
  expect(gone).toBe(0);
  pace.end();
  await Promise.all(waiting);
  expect(pace.delayMs(1, 0)).toBe(0);
});
