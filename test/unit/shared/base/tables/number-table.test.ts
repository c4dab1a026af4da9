import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { NumberTable } from '../../../../../shared/base/tables/number-table';
import { runSeed, seededRandom } from '../../../../support/values/random';

const seed = runSeed('number table');

describe(`NumberTable, SEED=${seed}`, () => {
  test('names values by rising numbers from 1', () => {
    const table = new NumberTable<{ name: string }>();
    expect(table.add({ name: 'a' })).toBe(1);
    expect(table.add({ name: 'b' })).toBe(2);
    expect(table.get(1)).toEqual({ name: 'a' });
    expect(table.remove(1)).toEqual({ name: 'a' });
    expect(table.get(1)).toBeUndefined();
    expect(table.remove(1)).toBeUndefined();
    expect(table.size).toBe(1);
  });

  test('knows nothing by numbers that it never gave, whatever place they share', () => {
    const table = new NumberTable<object>();
    const number = table.add({});
    for (const other of [0, number + 16, number + 32, -number, 2 ** 32 + number, number + 0.5]) {
      expect(table.get(other)).toBeUndefined();
      expect(table.remove(other)).toBeUndefined();
    }
    expect(table.size).toBe(1);
  });

  test('gives no number twice while it is in use, and finds all values, as a Map would', () => {
    const random = seededRandom(seed);
    const table = new NumberTable<{ at: number }>();
    const expected = new Map<number, { at: number }>();
    const given = new Set<number>();
    // Compared without `expect`, which would take most of the time.
    for (let at = 0; at < 20_000; at++) {
      // Grows to hundreds and shrinks again, with some values that stay for long.
      const wanted = 1 + Math.floor(400 * Math.abs(Math.sin(at / 3_000)));
      if (expected.size < wanted) {
        const value = { at };
        const number = table.add(value);
        assert.ok(!given.has(number));
        given.add(number);
        expected.set(number, value);
      } else {
        const numbers = [...expected.keys()];
        const number = numbers[Math.floor(random() ** 2 * numbers.length)];
        assert.equal(table.remove(number), expected.get(number));
        expected.delete(number);
      }
      assert.equal(table.size, expected.size);
    }
    for (const [number, value] of expected) expect(table.get(number)).toBe(value);
    expect(table.removeAll()).toEqual([...expected.values()]);
    expect(table.size).toBe(0);
    for (const number of expected.keys()) expect(table.get(number)).toBeUndefined();
  });

  test('starts again after the last number and passes over what is still in use', () => {
    const table = new NumberTable<{ name: string }>({ last: 2 ** 32 - 3 });
    const old = table.add({ name: 'old' });
    expect(old).toBe(2 ** 32 - 2);
    expect(table.add({ name: 'last' })).toBe(2 ** 32 - 1);
    expect(table.add({ name: 'first' })).toBe(1);
    expect([table.get(old), table.get(2 ** 32 - 1), table.get(1)]).toEqual([
      { name: 'old' },
      { name: 'last' },
      { name: 'first' },
    ]);
  });

  test('leaves what has passed through it to the quick collections', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;
    const table = new NumberTable<number[]>();
    const open = Array.from({ length: 8 }, () => table.add([]));
    // Twice through a quick collection: whatever the table is made of has become old.
    for (let i = 0; i < 3; i++) collect({ type: 'minor' });
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 40_000; i++) {
      open.push(table.add(new Array<number>(100).fill(i)));
      table.remove(open.shift() as number);
      if (i % 500 === 0) collect({ type: 'minor' });
    }
    collect({ type: 'minor' });
    // All of them take 32 MB; a Map in the table's place keeps most of them until a full collection.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(8e6);
  });
});
