import { nearestOf, passagesOf, unitsLookedAt } from '../../../../../coordinator/service/search/nearest-passage';

const shown = (text: string, size: number): string[] =>
  passagesOf(text, size, 1000).map(({ start, end }) => text.slice(start, end));

test.each([
  ['', []],
  [' \n ', []],
  ['  One sentence without an end ', ['One sentence without an end']],
  ['Is it? Yes.  It is!\n\nAnd a paragraph', ['Is it?', 'Yes.', 'It is!', 'And a paragraph']],
  ['A line that\ngoes on. Next.', ['A line that\ngoes on.', 'Next.']],
  ['北京在哪里？在中国。', ['北京在哪里？', '在中国。']],
])('%j is cut into its sentences', (text, expected) => {
  expect(shown(text, 100)).toEqual(expected);
});

test('a long sentence is cut at words, and a long word between characters', () => {
  expect(shown('one two three four. Five', 10)).toEqual(['one two', 'three', 'four.', 'Five']);
  expect(shown('x'.repeat(25), 10).map(({ length }) => length)).toEqual([10, 10, 5]);
  const pairs = shown('😀'.repeat(20), 11);
  expect(pairs.join('')).toBe('😀'.repeat(20));
  expect(pairs.every((piece) => piece.length <= 11)).toBe(true);
});

test('only the beginning of a long text is looked at', () => {
  const text = 'A sentence. '.repeat(10_000);
  const passages = passagesOf(text, 100, 1000);
  expect(passages.every(({ start, end }) => text.slice(start, end) === 'A sentence.')).toBe(true);
  expect(unitsLookedAt(text)).toBe(8192);
  expect(passagesOf(text, 100, 3)).toEqual(passages.slice(0, 3));
  expect(passages.at(-1)!.end).toBeLessThanOrEqual(8192);
  expect(passages.length).toBeGreaterThan(600);
  const [{ end }] = passagesOf(`a${'😀'.repeat(5000)}`, 10_000, 9);
  expect([end % 2, end <= 8192]).toEqual([1, true]);
});

test('the nearest is the one of the best score by the metric', () => {
  const vectors = [
    [1, 0],
    [3, 3],
    [0, 1],
  ].map((values) => Float32Array.from(values));
  const to = Float32Array.from([0.1, 1]);
  expect((['cosine', 'ip', 'l2'] as const).map((metric) => nearestOf(vectors, to, metric))).toEqual([2, 1, 2]);
  expect(nearestOf([], to, 'ip')).toBe(-1);
});
