import { SharedTenure, tenureIn } from '../../../../../coordinator/service/aliases/alias-tenure';
import { sharedMs } from '../../../../../shared/base/time/shared-clock';

const LONG_MS = 1_000_000;

test('aliases are certain until a time, for all threads that have the memory', () => {
  const tenure = new SharedTenure();
  const elsewhere = tenureIn(tenure.memory);
  expect([tenure.isHeld(), elsewhere.isHeld()]).toEqual([false, false]);
  tenure.extend(sharedMs() + LONG_MS);
  expect([tenure.isHeld(), elsewhere.isHeld()]).toEqual([true, true]);
  tenure.extend(sharedMs() - 1);
  expect([tenure.isHeld(), elsewhere.isHeld()]).toEqual([false, false]);
  tenure.extend(sharedMs() + LONG_MS);
  tenure.end();
  expect(elsewhere.isHeld()).toBe(false);
});

test('a machine that slept is certain of nothing, though one of its clocks stood still', () => {
  const tenure = new SharedTenure();
  tenure.extend(sharedMs() + LONG_MS);
  const now = Date.now();
  const clock = jest.spyOn(Date, 'now').mockReturnValue(now + LONG_MS + 1);
  expect(tenure.isHeld()).toBe(false);
  clock.mockRestore();
  expect(tenure.isHeld()).toBe(true);
});

test('a process that alone changes them is always certain', () => {
  expect(tenureIn(undefined).isHeld()).toBe(true);
});
