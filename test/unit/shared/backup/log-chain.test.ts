import { chainAfter, chainsOf, segmentsBetween } from '../../../../shared/backup/log-chain';
import type { LogSegment } from '../../../../shared/backup/log-format';

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
