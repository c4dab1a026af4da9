import type { SlotSet } from '../slots/slot-set';
import { BOUND_SLACK } from './bm25';
import type { TopDocuments } from './top-documents';
import type { Candidates } from './unit-candidates';
import { UnitReader } from './unit-reader';
import type { SearchedUnits } from './searched-units';

/** Look-ups of a term in a document before a break: about two milliseconds. */
const LOOK_UPS_AT_ONCE = 1 << 15;
/** Documents that are looked at between two looks at the number of look-ups. */
const DOCUMENTS_AT_ONCE = 1 << 12;

/** Which slots are wanted: of the whole, and of each unit; null: all. */
export interface WantedSlots {
  allowed: SlotSet | null;
  units: readonly (SlotSet | null)[];
}

/**
 * Looks the units up in candidates, until there are no more or it is time for a break; then it answers from which
 * document on the others are, else Infinity.
 */
export function lookUpSome(
  source: SearchedUnits,
  readers: readonly UnitReader[],
  wanted: WantedSlots,
  candidates: Candidates,
  top: TopDocuments,
): number {
  const judge = new UnitJudge(source, readers, wanted, top);
  const terms = readers.reduce((sum, { lengths }) => sum + lengths.length, 1);
  const count = Math.max(1, Math.min(DOCUMENTS_AT_ONCE, Math.floor(LOOK_UPS_AT_ONCE / terms)));
  for (let lookUps = 0; lookUps < LOOK_UPS_AT_ONCE;) {
    const documents = candidates.take(count);
    if (documents.length === 0) return Infinity;
    for (let i = 0; i < documents.length; i++) judge.consider(documents[i]);
    lookUps += documents.length * terms;
    if (lookUps >= LOOK_UPS_AT_ONCE) return documents[documents.length - 1] + 1;
  }
  return Infinity;
}

/** Decides about documents, which must ascend. */
class UnitJudge {
  /** Units in the order in which they are looked up: those that the fewest documents have first. */
  private readonly order: number[];
  /** By place in that order: the most that this unit and those after it add together. */
  private readonly boundFrom: Float64Array;
  /** By unit: what it adds to the present document. */
  private readonly added: Float64Array;
  /** How many optional units a document may lack. */
  private readonly lackedMax: number;

  constructor(
    private readonly source: SearchedUnits,
    private readonly readers: readonly UnitReader[],
    private readonly wanted: WantedSlots,
    private readonly top: TopDocuments,
  ) {
    this.order = readers.map((_, i) => i).sort((a, b) => readers[a].documentsMax - readers[b].documentsMax);
    this.boundFrom = new Float64Array(readers.length + 1);
    for (let i = readers.length - 1; i >= 0; i--)
      this.boundFrom[i] = this.boundFrom[i + 1] + readers[this.order[i]].scoreMax;
    this.added = new Float64Array(readers.length);
    this.lackedMax = readers.filter(({ unit }) => unit.isOptional).length - source.minimum;
  }

  /** Adds a document to the best if it has enough, and may be one of them. */
  consider(document: number): void {
    const { order, readers, added, boundFrom, top, wanted } = this;
    const { lengths, slots } = this.source.documents;
    const length = lengths[document];
    const slot = slots[document];
    if (length === 0 || (wanted.allowed !== null && !wanted.allowed.has(slot))) return;
    let lacked = 0;
    let sum = 0;
    for (let at = 0; at < order.length; at++) {
      if ((sum + boundFrom[at]) * BOUND_SLACK < top.threshold) return;
      const unit = order[at];
      const unitSlots = wanted.units[unit];
      const frequency = unitSlots === null || unitSlots.has(slot) ? readers[unit].frequencyIn(document) : 0;
      const score = frequency === 0 ? 0 : readers[unit].scoreOf(frequency, length);
      added[unit] = score;
      sum += score;
      if (frequency === 0 && readers[unit].unit.isOptional && ++lacked > this.lackedMax) return;
    }
    if (sum === 0) return;
    // In the order of the units, as in every other way to find it.
    let score = 0;
    for (let unit = 0; unit < added.length; unit++) score += added[unit];
    top.add(document, score);
  }
}
