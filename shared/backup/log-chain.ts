import type { LogSegment } from './log-format';

/** Segments that follow each other without a gap: the entries from `since` on up to the last one's. */
export interface LogChain {
  since: number;
  /** The epoch of the entry before `since`. */
  precedingEpoch: number;
  segments: LogSegment[];
}

/**
 * The chains that segments make, in the order of their entries. One entry may be in several segments, where two members
 * shipped the same for a while. A segment goes on with what is there when the entry before its first is that one, of the
 * same epoch; one that another lineage of the log wrote does not.
 */
export function chainsOf(segments: readonly LogSegment[]): LogChain[] {
  const chains: LogChain[] = [];
  const sorted = [...segments].sort((a, b) => a.first - b.first || b.last - a.last || a.lastEpoch - b.lastEpoch);
  for (const segment of sorted) {
    const goesOn = chains.findLast((chain) => follows(chain, segment));
    if (goesOn === undefined) chains.push(branchOf(chains, segment) ?? { since: segment.first, precedingEpoch: segment.precedingEpoch, segments: [segment] });
    else if (segment.last > goesOn.segments.at(-1)!.last) goesOn.segments.push(segment);
  }
  return chains;
}

/** The chain that leaves another one before its end; null: it begins anew. */
function branchOf(chains: readonly LogChain[], segment: LogSegment): LogChain | null {
  for (const { segments, ...chain } of chains) {
    const last = segments.findIndex((one) => one.last + 1 === segment.first && one.lastEpoch === segment.precedingEpoch);
    if (last >= 0) return { ...chain, segments: [...segments.slice(0, last + 1), segment] };
  }
  return null;
}

/** The segments of a chain that lead from the entry after `sequence` up to `upTo`; null: it does not have them all. */
export function segmentsBetween({ since, segments }: LogChain, sequence: number, upTo: number): LogSegment[] | null {
  if (since > sequence + 1 || (segments.at(-1)?.last ?? 0) < upTo) return null;
  return segments.filter(({ first, last }) => last > sequence && first <= upTo);
}

/** The chain that goes on from a place of the log, the one of the latest lineage; null: there is none. */
export function chainAfter(chains: readonly LogChain[], { sequence, epoch }: { sequence: number; epoch: number }): LogChain | null {
  const fitting = chains.filter(({ since, precedingEpoch, segments }) => {
    if (since === sequence + 1) return precedingEpoch === epoch;
    const segment = since <= sequence ? segments.find(({ first, last }) => first <= sequence && last >= sequence) : undefined;
    if (segment?.last === sequence) return segment.lastEpoch === epoch;
    return segment !== undefined && segment.precedingEpoch <= epoch && epoch <= segment.lastEpoch;
  });
  const endOf = ({ segments }: LogChain): LogSegment => segments.at(-1)!;
  return fitting.sort((a, b) => endOf(b).lastEpoch - endOf(a).lastEpoch || endOf(b).last - endOf(a).last)[0] ?? null;
}

function follows({ segments }: LogChain, { first, last, precedingEpoch, lastEpoch }: LogSegment): boolean {
  const end = segments.at(-1)!;
  if (first === end.last + 1) return precedingEpoch === end.lastEpoch;
  if (first > end.last) return false;
  // What both have is the same where their epochs can agree: an entry is told by its number and its epoch.
  if (last <= end.last) return lastEpoch <= end.lastEpoch && precedingEpoch <= end.lastEpoch;
  return precedingEpoch <= end.lastEpoch && lastEpoch >= end.lastEpoch;
}
