import { chainAfter, chainsOf, segmentsBetween } from '../../../../shared/backup-store/log-chain';
import type { LogSegment } from '../../../../shared/backup-store/log-format';
import { runSeed, seededRandom } from '../../../support/values/random';

/** Which segments of a target follow each other, and which of them go on from a place of the log. */

const segment = (first: number, last: number, precedingEpoch: number, lastEpoch = precedingEpoch): LogSegment => ({
  key: `${first}-${last}`,
  bytes: 1,
  first,
  last,
  precedingEpoch,
  lastEpoch,
  fromMs: 0,
  toMs: 0,
});

/** The names of the segments that lead from a place to the end of what goes on there; null: nothing does. */
function wayFrom(segments: LogSegment[], sequence: number, epoch: number): string[] | null {
  const chain = chainAfter(chainsOf(segments), { sequence, epoch });
  return chain && segmentsBetween(chain, sequence, chain.segments.at(-1)!.last)!.map(({ key }) => key);
}

test('a place is followed in its own lineage, at the end of a segment as within it', () => {
  const segments = [segment(1, 4, 0, 1), segment(5, 9, 1), segment(10, 12, 1, 3)];
  expect(wayFrom(segments, 0, 0)).toEqual(['1-4', '5-9', '10-12']);
  expect(wayFrom(segments, 4, 1)).toEqual(['5-9', '10-12']);
  expect(wayFrom(segments, 7, 1)).toEqual(['5-9', '10-12']);
  expect(wayFrom(segments, 12, 3)).toEqual([]);
  expect(wayFrom(segments, 7, 2)).toBeNull();
  // Another entry has that number: what a log wrote that was put back since.
  expect(wayFrom(segments, 12, 1)).toBeNull();
  expect(wayFrom([segment(1, 6, 0, 1), segment(7, 7, 1, 5), segment(8, 8, 5)], 7, 1)).toBeNull();
  expect(wayFrom([segment(1, 6, 0, 1), segment(7, 7, 1, 5), segment(8, 8, 5)], 7, 5)).toEqual(['8-8']);
});

test('of two that go on from one place the later lineage is followed', () => {
  const segments = [segment(1, 4, 0, 1), segment(5, 9, 1), segment(5, 6, 1, 2)];
  expect(wayFrom(segments, 4, 1)).toEqual(['5-6']);
  expect(wayFrom(segments, 9, 1)).toEqual([]);
});

/** The same as chainsOf, which looks at everything for each segment. */
function plainChainsOf(segments: readonly LogSegment[]): ReturnType<typeof chainsOf> {
  const chains: ReturnType<typeof chainsOf> = [];
  const follows = (
    { segments: own }: { segments: LogSegment[] },
    { first, last, precedingEpoch, lastEpoch }: LogSegment,
  ): boolean => {
    const end = own.at(-1)!;
    if (first >= end.last + 1) return first === end.last + 1 && precedingEpoch === end.lastEpoch;
    return (
      precedingEpoch <= end.lastEpoch && (last <= end.last ? lastEpoch <= end.lastEpoch : lastEpoch >= end.lastEpoch)
    );
  };
  for (const one of [...segments].sort((a, b) => a.first - b.first || b.last - a.last || a.lastEpoch - b.lastEpoch)) {
    const goesOn = chains.findLast((chain) => follows(chain, one));
    if (goesOn !== undefined) {
      if (one.last > goesOn.segments.at(-1)!.last) goesOn.segments.push(one);
      continue;
    }
    const leftAt = (chain: (typeof chains)[number]): number =>
      chain.segments.findIndex((other) => other.last + 1 === one.first && other.lastEpoch === one.precedingEpoch);
    const left = chains.find((chain) => leftAt(chain) >= 0);
    if (left === undefined) chains.push({ since: one.first, precedingEpoch: one.precedingEpoch, segments: [one] });
    else chains.push({ ...left, segments: [...left.segments.slice(0, leftAt(left) + 1), one] });
  }
  return chains;
}

test('chains are those that a look at everything finds', () => {
  const random = seededRandom(runSeed('log-chain'));
  const upTo = (max: number): number => Math.floor(random() * (max + 1));
  for (let round = 0; round < 500; round += 1) {
    const segments = Array.from({ length: upTo(40) }, () => {
      const [first, precedingEpoch] = [1 + upTo(12), upTo(3)];
      return segment(first, first + upTo(4), precedingEpoch, precedingEpoch + upTo(1));
    });
    expect(chainsOf(segments)).toEqual(plainChainsOf(segments));
  }
});

describe('names that somebody put there', () => {
  const COUNT = 2_000;
  const EPOCH = 1_000_000;
  const real = Array.from({ length: COUNT }, (_, i) => segment(i + 1, i + 1, EPOCH));

  test.each([
    ['are compared with few chains each', (i: number) => segment(1, 1_000_000 - i, 0, i)],
    [
      'leave one chain at one place, and are given a bound of what they take over',
      (i: number) => segment(COUNT, COUNT, EPOCH, EPOCH + 1 + i),
    ],
    ['leave one chain at every place', (i: number) => segment(i + 2, i + 2, EPOCH, EPOCH + 1 + i)],
  ])('%s, and the real ones are found among them', (_, nameOf) => {
    let looks = 0;
    const planted = Array.from({ length: COUNT }, (__, i) => {
      const { last, ...rest } = nameOf(i);
      return { ...rest, get last() { looks += 1; return last; } }; // prettier-ignore
    });
    const chains = chainsOf([...planted, ...real]);
    // A sort looks some log2(n) times at each, a look for a chain at 64 chains.
    expect(looks).toBeLessThan(COUNT * 200 + COUNT * 64 * 3);
    expect(chains.reduce((sum, { segments }) => sum + segments.length, 0)).toBeLessThanOrEqual(1_000_000 + 2 * COUNT);
    expect(
      chains.some(
        ({ segments }) =>
          segments.length >= COUNT - 1 && segments.every(({ lastEpoch }, i) => i >= COUNT - 1 || lastEpoch === EPOCH),
      ),
    ).toBe(true);
  });
});
