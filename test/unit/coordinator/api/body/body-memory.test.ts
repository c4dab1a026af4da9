import { BodyMemory } from '../../../../../coordinator/api/body/body-memory';

const MIB = 1024 * 1024;

function memory() {
  const freed: ArrayBuffer[] = [];
  return { freed, memory: new BodyMemory((buffer) => void freed.push(buffer)) };
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('what was given back is taken again, by what needs most of it', () => {
  const { memory: some } = memory();
  const first = some.take(3 * MIB + 1);
  expect(first.byteLength).toBe(4 * MIB);
  some.give(first);
  expect(some.take(MIB)).not.toBe(first);
  expect(some.take(5 * MIB)).not.toBe(first);
  // What is made of a body goes to another thread, and the memory of a body stays.
  expect(some.take(2 * MIB)).not.toBe(first);
  expect(some.take(3 * MIB)).toBe(first);
  expect(some.take(3 * MIB)).not.toBe(first);
});

test('the memory of others is not kept, and neither is what went to another thread', () => {
  const { memory: some, freed } = memory();
  const other = new ArrayBuffer(MIB);
  some.give(other);
  expect(some.take(MIB)).not.toBe(other);
  const gone = some.take(MIB);
  const there = structuredClone(gone, { transfer: [gone] });
  some.give(gone);
  expect(some.take(0)).not.toBe(gone);
  some.back(there);
  expect(some.take(MIB)).toBe(there);
  expect(freed).toEqual([]);
});

test('given twice, it is kept once', () => {
  const { memory: some } = memory();
  const first = some.take(MIB);
  some.give(first);
  some.give(first);
  expect(some.take(MIB)).toBe(first);
  expect(some.take(MIB)).not.toBe(first);
});

test('more than some of it is freed at once, and all of it when nobody has used it for a while', () => {
  const { memory: some, freed } = memory();
  const taken = Array.from({ length: 10 }, () => some.take(MIB));
  for (const one of taken) some.give(one);
  expect(freed).toEqual(taken.slice(8));
  jest.advanceTimersByTime(1_999);
  some.give(some.take(MIB));
  jest.advanceTimersByTime(1_999);
  expect(freed).toHaveLength(2);
  jest.advanceTimersByTime(1);
  expect(new Set(freed)).toEqual(new Set(taken));
});

test('a piece is freed if it is all of its buffer', () => {
  const { memory: some, freed } = memory();
  const piece = Buffer.allocUnsafeSlow(64 * 1024);
  some.discard(piece.subarray(1));
  some.discard(piece.subarray(0, piece.length - 1));
  some.discard(Buffer.allocUnsafeSlow(100));
  some.discard(Buffer.from(new SharedArrayBuffer(64 * 1024)));
  expect(freed).toEqual([]);
  some.discard(piece);
  expect(freed).toEqual([piece.buffer]);
});
