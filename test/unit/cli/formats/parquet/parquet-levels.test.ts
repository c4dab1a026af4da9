import { checkRuns, readLevels } from '../../../../../cli/formats/parquet/parquet-levels';
import { seededRandom } from '../../../../support/values/random';

const SEED = 20261123;

/** A run as Parquet writes it: repeated, or packed in groups of eight. */
function repeated(level: number, count: number): number[] {
  return [...unsigned(count * 2), level];
}

function packed(levels: number[], width: number): number[] {
  const groups = Math.ceil(levels.length / 8);
  const bytes = new Uint8Array(groups * width);
  for (const [i, level] of levels.entries())
    for (let bit = 0; bit < width; bit++) {
      const at = i * width + bit;
      bytes[at >> 3] |= ((level >> bit) & 1) << (at & 7);
    }
  return [...unsigned(groups * 2 + 1), ...bytes];
}

function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(Math.floor(value / 0x80))];
}

describe(`levels of a Parquet page, seed ${SEED}`, () => {
  test.each([1, 2, 3, 7, 15, 255])('of up to %d come back as they were written, in runs of both kinds', (highest) => {
    const random = seededRandom(SEED + highest);
    const width = 32 - Math.clz32(highest);
    for (let round = 0; round < 60; round++) {
      const levels: number[] = [];
      const bytes: number[] = [];
      for (let run = 0; run < 1 + Math.floor(random() * 6); run++) {
        // Only the last run may end within a group of eight.
        if (random() < 0.5) {
          const level = Math.floor(random() * (highest + 1));
          const count = 1 + Math.floor(random() * 500);
          levels.push(...new Array<number>(count).fill(level));
          bytes.push(...repeated(level, count));
        } else {
          const some = Array.from({ length: 8 * (1 + Math.floor(random() * 20)) }, () =>
            random() < 0.5 ? highest : Math.floor(random() * (highest + 1)),
          );
          levels.push(...some);
          bytes.push(...packed(some, width));
        }
      }
      const count = levels.length - Math.floor(random() * 8);
      const wanted = Math.max(1, count);
      expect([...readLevels(Uint8Array.from(bytes), wanted, highest)]).toEqual(levels.slice(0, wanted));
    }
  });

  test('are refused when they are cut off, have a run of no length, or one whose length never ends', () => {
    expect(() => readLevels(Uint8Array.from([]), 1, 1)).toThrow('cut off');
    expect(() => readLevels(Uint8Array.from([4]), 2, 1)).toThrow('cut off');
    expect(() => readLevels(Uint8Array.from([5, 0xff]), 16, 1)).toThrow('cut off');
    expect(() => readLevels(Uint8Array.from(repeated(1, 3)), 4, 1)).toThrow('cut off');
    expect(() => readLevels(Uint8Array.from([0, 1]), 4, 1)).toThrow('empty');
    expect(() => readLevels(new Uint8Array(9).fill(0x80), 4, 1)).toThrow('no length');
  });
});

test('indices are no more than there are values', () => {
  const good = Uint8Array.from([...repeated(3, 10), ...packed([1, 2, 3], 2)]);
  expect(() => checkRuns(good, 2, 13)).not.toThrow();
  expect(() => checkRuns(good, 2, 9)).toThrow('a run of 10 indices where there are 9');
  expect(() => checkRuns(Uint8Array.from(repeated(1, 2 ** 30)), 2, 100)).toThrow(
    'a run of 1073741824 indices where there are 100',
  );
  expect(() => checkRuns(Uint8Array.from(packed(new Array<number>(64).fill(1), 2)), 2, 40)).toThrow(
    'a run of 64 indices where there are 40',
  );
  expect(() => checkRuns(good, 2, 30)).toThrow('cut off');
  expect(() => checkRuns(Uint8Array.of(0), 2, 1)).toThrow('empty');
});
