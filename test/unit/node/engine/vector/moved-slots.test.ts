import { MovedSlots } from '../../../../../node/engine/vector/moved-slots';

const numbersOf = (parts: Uint32Array[]): number[] => parts.flatMap((part) => [...part]);

test('a search is told of what moved while it was under way, whatever others end', () => {
  const moved = new MovedSlots();
  const first = moved.begin();
  moved.add(Uint32Array.of(1, 2));
  const second = moved.begin();
  moved.add(Uint32Array.of(3));
  const third = moved.begin();
  expect(numbersOf(moved.since(first))).toEqual([1, 2, 3]);
  moved.end(second);
  expect(numbersOf(moved.since(first))).toEqual([1, 2, 3]);
  moved.end(first);
  moved.add(Uint32Array.of(4));
  expect(numbersOf(moved.since(third))).toEqual([4]);
  moved.end(third);
  expect(moved.size).toBe(0);
});

test('what moves while no search is under way is not kept', () => {
  const moved = new MovedSlots();
  moved.add(Uint32Array.of(1));
  expect(moved.size).toBe(0);
  expect(moved.since(moved.begin())).toEqual([]);
});

test('while searches follow each other without a gap, no more is kept than what the oldest of them may need', () => {
  const moved = new MovedSlots();
  let search = moved.begin();
  for (let round = 0; round < 100; round += 1) {
    moved.add(Uint32Array.of(round));
    const next = moved.begin();
    expect(numbersOf(moved.since(search))).toEqual([round]);
    moved.end(search);
    search = next;
    expect(moved.size).toBe(0);
  }
});

test('what is added is copied', () => {
  const moved = new MovedSlots();
  const search = moved.begin();
  const slots = Uint32Array.of(1);
  moved.add(slots);
  slots[0] = 2;
  expect(numbersOf(moved.since(search))).toEqual([1]);
});
