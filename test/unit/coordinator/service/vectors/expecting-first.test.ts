import { expectingFirst } from '../../../../../coordinator/service/vectors/item-writes';

/** Which of the operations of a write are looked at before it. */

test('the first one on each item, where it expects something of it for all of the write', () => {
  const operations = [
    { externalId: 'a', expected: 1 },
    { externalId: 'b' },
    { externalId: 'a', expected: 2 },
    { externalId: 'b', expected: 3 },
    { externalId: 'c', expected: 4, alone: true },
    { externalId: 'd', expected: 5 },
  ];
  expect(expectingFirst(operations)).toEqual([operations[0], operations[5]]);
});

test('each is looked at a few times, however many there are', () => {
  let looks = 0;
  const operations = Array.from({ length: 2_000 }, (_, i) => ({
    get externalId() {
      looks += 1;
      return `i${i}`;
    },
    expected: i,
  }));
  expect(expectingFirst(operations)).toHaveLength(2_000);
  expect(looks).toBeLessThanOrEqual(4 * operations.length);
});
