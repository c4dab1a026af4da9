import type { LogSegment } from './log-format';

/** Segments that follow each other without a gap: the entries from `since` on up to the last one's. */
export interface LogChain {
  since: number;
  /** The epoch of the entry before `since`. */
  precedingEpoch: number;
  segments: LogSegment[];
}

/** Chains that a segment is compared with, the latest that may go on: there are more only where names were made up. */
const LOOKED_AT = 64;
/** Segments that all branches together take over from the chains that they leave; the name of one is some 100 bytes. */
const BRANCHED_MAX = 1_000_000;

/**
 * The chains that segments make, in the order of their entries. One entry may be in several segments, where two members
 * shipped the same for a while. A segment goes on with what is there when the entry before its first is that one, of
 * the same epoch; one that another lineage of the log wrote does not. Whatever names somebody puts there, it takes time
 * and memory in proportion to their number.
 */
export function chainsOf(segments: readonly LogSegment[]): LogChain[] {
  const chains: LogChain[] = [];
  const open: LogChain[] = [];
  const ends = new SegmentEnds();
  let branched = 0;
  const sorted = [...segments].sort((a, b) => a.first - b.first || b.last - a.last || a.lastEpoch - b.lastEpoch);
  for (const segment of sorted) {
    const end = ends.before(segment);
    let chain =
      latestBefore(open, segment) ?? (end !== null && end.at === end.chain.segments.length - 1 ? end.chain : null);
    if (chain !== null && segment.last <= chain.segments.at(-1)!.last) continue;
    if (chain === null) {
      chain = { since: segment.first, precedingEpoch: segment.precedingEpoch, segments: [] };
      if (end !== null && (branched += end.at + 1) <= BRANCHED_MAX)
        Object.assign(chain, end.chain, { segments: end.chain.segments.slice(0, end.at + 1) });
      chains.push(chain);
      open.push(chain);
    }
    chain.segments.push(segment);
    ends.add(segment, chain);
  }
  return chains;
}

/**
 * The latest chain that a segment goes on with, of those at the end of `open`, which loses what nothing goes on with
 * any more.
 */
function latestBefore(open: LogChain[], segment: LogSegment): LogChain | null {
  for (let i = open.length - 1; i >= Math.max(0, open.length - LOOKED_AT); i -= 1) {
    if (open[i].segments.at(-1)!.last + 1 < segment.first) open.splice(i, 1);
    else if (follows(open[i], segment)) return open[i];
  }
  return null;
}

/** Where segments end: the earliest chain that has one that ends there, and the place in it. */
class SegmentEnds {
  private readonly orders = new Map<LogChain, number>();
  private readonly found = new Map<string, { chain: LogChain; at: number }>();

  before({ first, precedingEpoch }: LogSegment): { chain: LogChain; at: number } | null {
    return this.found.get(`${first - 1} ${precedingEpoch}`) ?? null;
  }

  /** Of the last segment of a chain. */
  add({ last, lastEpoch }: LogSegment, chain: LogChain): void {
    const order = this.orders.get(chain) ?? this.orders.size;
    this.orders.set(chain, order);
    const key = `${last} ${lastEpoch}`;
    const known = this.found.get(key);
    if (known === undefined || this.orders.get(known.chain)! > order)
      this.found.set(key, { chain, at: chain.segments.length - 1 });
  }
}

/** The segments of a chain that lead from the entry after `sequence` up to `upTo`; null: it does not have them all. */
export function segmentsBetween({ since, segments }: LogChain, sequence: number, upTo: number): LogSegment[] | null {
  if (since > sequence + 1 || (segments.at(-1)?.last ?? 0) < upTo) return null;
  return segments.filter(({ first, last }) => last > sequence && first <= upTo);
}

/** The chain that goes on from a place of the log, the one of the latest lineage; null: there is none. */
export function chainAfter(
  chains: readonly LogChain[],
  { sequence, epoch }: { sequence: number; epoch: number },
): LogChain | null {
  const fitting = chains.filter(({ since, precedingEpoch, segments }) => {
    if (since === sequence + 1) return precedingEpoch === epoch;
    const segment =
      since <= sequence ? segments.find(({ first, last }) => first <= sequence && last >= sequence) : undefined;
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
