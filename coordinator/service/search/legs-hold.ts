import type { AnswerHold } from '../answer-hold';
import { exampleItems, isMade, type Leg, type LegSource, type Source } from '../search-request';
import { bestScoreDepth, isOfBestScore } from './best-score';
import { fusionDepth } from './fusion';
import { hitBytesMax } from './later-hits';

type FusedSource = Extract<Source, { type: 'fused' }>;

/** What lists of hits may hold. */
interface ListBounds {
  shards: number;
  contentBytes: number;
  texts: boolean;
  hold: AnswerHold;
}

/** The most that each list holds of those that are fused for the first `last` places. */
export function legsBytesMax(source: FusedSource, last: number, bounds: ListBounds): number[] {
  const leftOut = exampleItems(source).size;
  const depth = fusionDepth(last) + leftOut;
  return source.legs.map(({ of }) =>
    readsSeveral(of)
      ? listsBytesMax(of.positives.length, bestScoreDepth(depth, leftOut), bounds)
      : hitBytesMax(depth, bounds.shards, bounds.contentBytes, bounds.texts, bounds.hold),
  );
}

/** The same of lists of which one is made by the best score; they are without texts. */
function listsBytesMax(lists: number, depth: number, { shards, contentBytes, hold }: ListBounds): number {
  return lists * hitBytesMax(depth, shards, contentBytes, false, hold);
}

/** How many hits are read for the first `last` places of lists that are fused, where two lists count as one. */
export function legsHits({ legs }: FusedSource, last: number): number {
  const lists = legs.reduce((sum, leg) => sum + listsOf(leg), 0);
  return fusionDepth(last) * Math.max(1, lists / 2);
}

/** By the best score, twice as deep a list of each positive. */
function listsOf(leg: Leg): number {
  if (!isMade(leg)) return 0;
  return readsSeveral(leg.of) ? 2 * leg.of.positives.length : 1;
}

/** Whether a list is made of several others. */
export function readsSeveral(of: LegSource): of is Extract<LegSource, { type: 'examples' }> {
  return of.type === 'examples' && isOfBestScore(of, of);
}

/** Room for the lists of a search, of which some become deeper on the way: each time, it is asked for all of them. */
export class LegsHold {
  private readonly bytes: number[];
  /** One after the other: each counts what the one before has got. */
  private last: Promise<void> = Promise.resolve();

  constructor(
    source: FusedSource,
    last: number,
    private readonly bounds: ListBounds,
  ) {
    this.bytes = legsBytesMax(source, last, bounds);
  }

  /** Of the lists as they are at first. */
  begin(): Promise<void> | undefined {
    return this.bounds.hold.reserve(this.sum);
  }

  /** Of so many lists of a leg. */
  reserve(leg: number, lists: number, depth: number): Promise<void> {
    this.last = this.last.then(() => {
      this.bytes[leg] = listsBytesMax(lists, depth, this.bounds);
      return this.bounds.hold.reserve(this.sum);
    });
    return this.last;
  }

  private get sum(): number {
    return this.bytes.reduce((sum, bytes) => sum + bytes, 0);
  }
}
