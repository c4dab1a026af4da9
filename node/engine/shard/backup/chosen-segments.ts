import type { RecordSegment } from '../../../../shared/backup-store/backup-format';

/** About the bytes of a segment, which is in memory as a whole when it is written or read. */
export const SEGMENT_BYTES = 8 * 1024 * 1024;
/** A segment of which less than this share is there is written again without the rest. */
const LIVE_SHARE_MIN = 0.5;

/** Numbers of records, both ends included. */
export interface RecnoRange {
  from: number;
  to: number;
}

/**
 * Which segments of the backup before stay, and which records are read again. Read again are those of segments of which
 * little is there any more, and of the last ones as long as they are small beside what came after them: so there are
 * few small segments, and a record is written again some ten times at most, however many backups there are.
 */
export function chooseSegments(
  segments: readonly RecordSegment[],
  parts: { lastRecno: number; liveIn: (segment: RecordSegment) => number },
): { kept: RecordSegment[]; ranges: RecnoRange[] } {
  const { lastRecno, liveIn } = parts;
  const ranges: RecnoRange[] = [];
  const end = segments.at(-1)?.to ?? 0;
  const totals = segments.reduce((sum, { bytes, count }) => ({ bytes: sum.bytes + bytes, count: sum.count + count }), {
    bytes: 0,
    count: 0,
  });
  let following = totals.count === 0 ? 0 : ((lastRecno - end) * totals.bytes) / totals.count;
  let keptCount = segments.length;
  while (
    following > 0 &&
    keptCount > 0 &&
    segments[keptCount - 1].bytes < SEGMENT_BYTES / 2 &&
    segments[keptCount - 1].bytes <= following
  ) {
    keptCount -= 1;
    following += segments[keptCount].bytes;
  }
  const kept: RecordSegment[] = [];
  for (const segment of segments.slice(0, keptCount)) {
    if (liveIn(segment) >= segment.count * LIVE_SHARE_MIN) kept.push(segment);
    else addRange(ranges, segment);
  }
  const from = (segments[keptCount - 1]?.to ?? 0) + 1;
  if (from <= lastRecno) addRange(ranges, { from, to: lastRecno });
  return { kept, ranges };
}

/** Ranges come in ascending order; neighbours become one. */
function addRange(ranges: RecnoRange[], { from, to }: RecnoRange): void {
  const last = ranges.at(-1);
  if (last !== undefined && last.to + 1 === from) last.to = to;
  else ranges.push({ from, to });
}
