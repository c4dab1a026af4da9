import type { SlotScores } from '../../slots/slot-scores';
import type { ScoredSlot } from './ordered-hits';
import { sortedInSteps } from './sorted-in-steps';

/** Ids read before others may be served: about a quarter of a millisecond. */
const IDS_PER_STEP = 512;
/** Hits listed before others may be served: as long. */
const HITS_PER_STEP = 4_096;

/** What names slots: a directory. */
export interface NamedSlots {
  isLive(slot: number): boolean;
  externalIdOf(slot: number): string;
}

/** The last place in the order of answers down to which candidates are complete. */
export interface Border {
  score: number;
  externalId: string;
}

export interface CutHits {
  scored: ScoredSlot[];
  border: Border | null;
}

/**
 * The best `k` of what an index has found, by descending score, where more tie with the last of them: of those the
 * first by external_id in code units, however many there are. Slots that are not live any more come besides, because
 * something else may have come in their place. `border`: what was left out comes behind it; null: nothing was left out.
 * In steps, because a collection may have a million equal vectors.
 */
export function* cutTies(
  items: NamedSlots,
  { slots, scores }: Pick<SlotScores, 'slots' | 'scores'>,
  k: number,
): Generator<undefined, CutHits> {
  const { better, first, gone, last } = yield* cutAt(items, { slots, scores }, k);
  const scored: ScoredSlot[] = [];
  for (let i = 0; i < better; i += 1) {
    scored.push({ slot: slots[i], score: scores[i] });
    if (i % HITS_PER_STEP === HITS_PER_STEP - 1) yield;
  }
  const score = scores[slots.length - 1];
  for (const slot of [...gone, ...first]) scored.push({ slot, score });
  return { scored, border: last === null ? null : { score, externalId: last } };
}

/** The same as slots and scores, without those that are not live among them that tie. `isCut`: some were left out. */
export function* cutTiedSlots(
  items: NamedSlots,
  { slots, scores }: Pick<SlotScores, 'slots' | 'scores'>,
  k: number,
): Generator<undefined, { slots: Uint32Array; scores: Float64Array; isCut: boolean }> {
  const { better, first, last } = yield* cutAt(items, { slots, scores }, k);
  const kept = new Uint32Array(better + first.length);
  kept.set(slots.subarray(0, better));
  kept.set(first, better);
  return { slots: kept, scores: scores.subarray(0, kept.length), isCut: last !== null };
}

/**
 * `better`: how many come before those that tie with the last. Of these, where there are too many, `first` are the
 * first by their ids, of which `last` is the last, or null if that are all, and `gone` are not live.
 */
function* cutAt(
  items: NamedSlots,
  { slots, scores }: Pick<SlotScores, 'slots' | 'scores'>,
  k: number,
): Generator<undefined, { better: number; first: number[]; gone: number[]; last: string | null }> {
  const score = scores[slots.length - 1];
  let better = slots.length;
  if (slots.length > k) while (better > 0 && scores[better - 1] === score) better -= 1;
  const gone: number[] = [];
  if (better >= Math.min(k, slots.length)) return { better, first: [], gone, last: null };
  const first = new FirstByName(k - better);
  for (let i = better; i < slots.length; i += 1) {
    const slot = slots[i];
    if (!items.isLive(slot)) gone.push(slot);
    else if (first.add(slot, items.externalIdOf(slot))) yield* first.cut();
    if ((i - better) % IDS_PER_STEP === IDS_PER_STEP - 1) yield;
  }
  const { kept, last } = yield* first.take();
  return { better, first: kept, gone, last };
}

interface NamedSlot {
  slot: number;
  name: string;
}

/** The `count` slots with the first names. */
class FirstByName {
  private kept: NamedSlot[] = [];
  /** No name behind this one is among the first; null until there were more than `count`. */
  private last: string | null = null;

  constructor(private readonly count: number) {}

  /** Answers whether there are so many that they are to be cut. */
  add(slot: number, name: string): boolean {
    if (this.last !== null && name > this.last) return false;
    this.kept.push({ slot, name });
    return this.kept.length >= 2 * this.count + IDS_PER_STEP;
  }

  /** `last`: the last name that is kept; null: all are. */
  *take(): Generator<undefined, { kept: number[]; last: string | null }> {
    if (this.last !== null || this.kept.length > this.count) yield* this.cut();
    return { kept: this.kept.map(({ slot }) => slot), last: this.last };
  }

  *cut(): Generator<undefined, void> {
    this.kept = yield* sortedInSteps(this.kept, (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    if (this.kept.length > this.count) this.kept.length = this.count;
    this.last = this.kept[this.count - 1].name;
  }
}
