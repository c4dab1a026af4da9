import { SlotAllocator } from '../../../../../node/engine/directory/slot-allocator';

const NOWHERE: ReadonlyMap<number, number> = new Map();

test('gives out free slots before new ones', () => {
  const slots = new SlotAllocator(5, [1, 3]);
  expect([slots.allocate(), slots.allocate(), slots.allocate()].sort((a, b) => a - b)).toEqual([1, 3, 5]);
  expect(slots.limit).toBe(6);
});

test('a slot freed while nobody reads is given out at once', () => {
  const slots = new SlotAllocator(1);
  slots.release([0], NOWHERE);
  expect(slots.allocate()).toBe(0);
});

test('a slot freed under a reader waits for it, and for no reader that began later', () => {
  const slots = new SlotAllocator(3);
  const first = slots.beginRead();
  slots.release([0], NOWHERE);
  const second = slots.beginRead();
  slots.release([1], NOWHERE);
  expect(slots.allocate()).toBe(3);
  slots.endRead(first);
  expect(slots.allocate()).toBe(0);
  expect(slots.allocate()).toBe(4);
  slots.endRead(second);
  expect(slots.allocate()).toBe(1);
});

test('readers that end out of order hold back what the oldest may have seen', () => {
  const slots = new SlotAllocator(2);
  const first = slots.beginRead();
  slots.release([0], NOWHERE);
  const second = slots.beginRead();
  slots.release([1], NOWHERE);
  slots.endRead(second);
  expect(slots.allocate()).toBe(2);
  slots.endRead(first);
  expect([slots.allocate(), slots.allocate()].sort((a, b) => a - b)).toEqual([0, 1]);
});

test('tells a reader where an item went, through any number of moves, as long as it reads', () => {
  const slots = new SlotAllocator(3);
  const epoch = slots.beginRead();
  slots.release([0], new Map([[0, 7]]));
  expect(slots.successorOf(0)).toBe(7);
  slots.release([7, 1], new Map([[7, 9]]));
  expect(slots.successorOf(0)).toBe(9);
  expect(slots.successorOf(1)).toBe(-1);
  slots.endRead(epoch);
  expect(slots.successorOf(0)).toBe(-1);
});

test('tells a reader which items moved since it began, and where they are now', () => {
  const slots = new SlotAllocator(4);
  const early = slots.beginRead();
  slots.release([0], new Map([[0, 7]]));
  const late = slots.beginRead();
  expect(slots.movedSince(late)).toEqual([]);
  slots.release([1, 2], new Map([[1, 8]]));
  slots.release([7], new Map([[7, 9]]));
  expect(new Set(slots.movedSince(late))).toEqual(new Set([8, 9]));
  expect(new Set(slots.movedSince(early))).toEqual(new Set([8, 9]));
  slots.endRead(early);
  slots.endRead(late);
  expect(slots.movedSince(slots.beginRead())).toEqual([]);
});

test('a hundred thousand slots freed at once are taken back', () => {
  const slots = new SlotAllocator(300_000);
  const epoch = slots.beginRead();
  slots.release(
    Array.from({ length: 300_000 }, (_, slot) => slot),
    NOWHERE,
  );
  slots.endRead(epoch);
  expect(slots.allocate()).toBeLessThan(300_000);
});
