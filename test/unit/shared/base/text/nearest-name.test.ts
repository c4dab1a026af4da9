import { editsBetween, nearestName } from '../../../../../shared/base/text/nearest-name';
import { runSeed, seededRandom } from '../../../../support/values/random';

/** The whole matrix, as the definition has it. */
function plainEdits(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (__, j) => (i === 0 ? j : j === 0 ? i : 0)),
  );
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      rows[i][j] = Math.min(
        rows[i - 1][j] + 1,
        rows[i][j - 1] + 1,
        rows[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        rows[i][j] = Math.min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.length][b.length];
}

test('edits within a bound are those of the whole matrix', () => {
  const random = seededRandom(runSeed('nearest-name'));
  const word = (): string =>
    Array.from({ length: Math.floor(random() * 8) }, () => 'abc'[Math.floor(random() * 3)]).join('');
  for (let i = 0; i < 2000; i++) {
    const [a, b, most] = [word(), word(), Math.floor(random() * 4)];
    expect([a, b, most, editsBetween(a, b, most)]).toEqual([a, b, most, Math.min(plainEdits(a, b), most + 1)]);
  }
});

test.each([
  ['externalId', ['vector', 'external_id'], 'external_id'],
  ['Articles', ['articles', 'article'], 'articles'],
  ['artcles', ['articles', 'particles'], 'articles'],
  ['aritcles', ['articles'], 'articles'],
  ['books', ['articles'], null],
  ['ab', ['ac'], null],
  ['abc', ['abd'], 'abd'],
  ['', ['', '-'], null],
  ['日本語', ['日本話'], '日本話'],
  ['same', ['same'], null],
])('the name nearest to %j among %j is %j', (given, candidates, nearest) => {
  expect(nearestName(given, candidates)).toBe(nearest);
});

test('ten thousand names of the greatest length are no work to speak of', () => {
  const names = Array.from({ length: 10_000 }, (_, i) => 'a'.repeat(250) + String(i).padStart(5, '0'));
  const startedAt = process.cpuUsage();
  expect(nearestName(`${'a'.repeat(250)}x0x1x`, names)).not.toBeUndefined();
  expect(process.cpuUsage(startedAt).user / 1000).toBeLessThan(1000);
});
