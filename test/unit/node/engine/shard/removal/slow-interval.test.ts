import { slowInterval } from '../../../../../../node/engine/shard/removal/slow-interval';

let nowMs = 0;

beforeEach(() => {
  jest.useFakeTimers();
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
});

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

test('one timer serves all, each as often as it is to be, and is gone with the last', () => {
  const calls: string[] = [];
  const ends = [
    slowInterval(1_000, () => calls.push('a')),
    slowInterval(3_000, () => calls.push('b')),
    slowInterval(3_000, () => calls.push('c')),
  ];
  expect(jest.getTimerCount()).toBe(1);
  jest.advanceTimersByTime(6_000);
  expect(calls.filter((one) => one === 'a')).toHaveLength(6);
  expect(calls.filter((one) => one === 'b')).toHaveLength(2);
  // Those with the same time are spread over it.
  const looks = calls.join('').split('a');
  expect(looks.every((look) => look.length < 2)).toBe(true);
  ends[1]();
  calls.length = 0;
  jest.advanceTimersByTime(3_000);
  expect(calls.filter((one) => one !== 'a')).toEqual(['c']);
  ends[0]();
  ends[0]();
  ends[2]();
  expect(jest.getTimerCount()).toBe(0);
});

test('what takes long does not hold up the event loop, and one that has ended meanwhile is left out', () => {
  const calls: string[] = [];
  const slow = (name: string) => (): void => {
    calls.push(name);
    nowMs += 5;
  };
  const ends = ['a', 'b', 'c'].map((name) => slowInterval(1_000, slow(name)));
  jest.advanceTimersByTime(1_000);
  // Immediates run as soon as time moves.
  expect(calls).toEqual(['a']);
  ends[1]();
  jest.advanceTimersByTime(1);
  jest.advanceTimersByTime(1);
  expect(calls).toEqual(['a', 'c']);
  for (const end of ends) end();
});
