import { TextWindow } from '../../../../../coordinator/jobs/reshard/text-window';
import { Superseded } from '../../../../../coordinator/jobs/driving/owned-entry';
import { ManualClock } from '../../../../support/manual-clock';

const GOING = new AbortController().signal;

/** A call that takes so long, by the clock. */
const taking = (clock: ManualClock, ms: number) => async (): Promise<void> => clock.advance(ms);

test('quick calls let there be more texts, up to a bound, and slow ones fewer, down to one', async () => {
  const clock = new ManualClock();
  const window = new TextWindow(clock);
  const first = window.texts;
  await window.during(first, taking(clock, 100), GOING);
  expect(window.texts).toBe(2 * first);
  await window.during(16, taking(clock, 10_000), GOING);
  expect(window.texts).toBe(2 * first);
  for (let i = 0; i < 100; i += 1) await window.during(64, taking(clock, 100), GOING);
  expect(window.texts).toBe(768);
  for (let i = 0; i < 20; i += 1) await window.during(64, taking(clock, 20_000), GOING);
  expect(window.texts).toBe(1);
});

test('no more texts are there at once than may be, in the order of the calls, but for a call that is alone', async () => {
  const window = new TextWindow(new ManualClock());
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const call = (name: string, texts: number): Promise<void> =>
    window.during(
      texts,
      () => {
        begun.push(name);
        return new Promise((end) => ends.set(name, end));
      },
      GOING,
    );
  const calls = [call('large', 100), call('second', 6), call('third', 3)];
  await Promise.resolve();
  expect(begun).toEqual(['large']);
  ends.get('large')!();
  await calls[0];
  await Promise.resolve();
  // By then there may be more: the large one was quick.
  expect(begun).toEqual(['large', 'second', 'third']);
  ends.get('second')!();
  ends.get('third')!();
  await Promise.all(calls);
});

test('a call that fails leaves its room to the next one', async () => {
  const window = new TextWindow(new ManualClock());
  const failing = window.during(8, () => Promise.reject(new Error('away')), GOING);
  const next = window.during(8, async () => 'made', GOING);
  await expect(failing).rejects.toThrow('away');
  expect(await next).toBe('made');
});

test('a call that is to stop before its turn leaves the line, and lets smaller ones behind it begin', async () => {
  const window = new TextWindow(new ManualClock());
  let end = (): void => undefined;
  const first = window.during(6, () => new Promise<void>((done) => (end = done)), GOING);
  const stop = new AbortController();
  const large = window.during(6, async () => 'large', stop.signal);
  const small = window.during(2, async () => 'small', GOING);
  stop.abort();
  await expect(large).rejects.toThrow(Superseded);
  expect(await small).toBe('small');
  await expect(window.during(1, async () => 'late', stop.signal)).rejects.toThrow(Superseded);
  end();
  await first;
});
