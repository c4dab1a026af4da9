import type { Analyser } from '../../../../shared/base/text/analyser';
import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import { hasPhrase, type Phrase, phraseOf } from '../../../../shared/base/text/phrase';
import { inSlices } from '../../../../shared/base/time/work-slices';
import type { KeywordFields } from '../../../../shared/contract/shard/keyword-fields';
import type { JsonObject, WordsCondition } from '../../../../shared/contract/filter/filter';
import { ChunkedSlotSet } from '../../slots/chunked-slot-set';
import { analyserOfField, fieldsCutBy, keywordLines } from '../../keyword/keyword-text';
import type { PhrasePositions } from '../../positions/phrase-positions';

/** Texts that are read at once. */
const TEXTS_PER_READ = 256;
/**
 * Phrases that are kept at least, and at most; of those between, what was asked for in the last minute. Where there are
 * more, those go first that were not asked for longest, and a request that is answered now may need those of `usedMs`.
 */
const KEPT = { least: 64, most: 4_096, ms: 60_000, usedMs: 5_000 };
/** What nobody asked for in so long goes. */
const IDLE_MS = 5 * 60_000;
/** Slots of which a phrase is to be looked for that nobody asks for at present. */
const UNKNOWN_MAX = 4_096;
/** As often, what was written meanwhile is looked at before an answer; more would never end beside a fast writer. */
const PASSES_MAX = 3;

/** The items of a shard, by slot. */
export interface PhraseItems {
  analyser: Analyser;
  /** In what of an item a phrase may stand; undefined: in all strings. */
  fields?: KeywordFields | undefined;
  /** Those that have all of the words. */
  candidates(condition: WordsCondition): Generator<undefined, ChunkedSlotSet>;
  isCandidate(slot: number, condition: WordsCondition): boolean;
  /** Of live ones; null in the place of others. */
  read(slots: readonly number[]): Promise<({ text: string | null; metadata: JsonObject } | null)[]>;
}

interface KnownPhrase {
  readonly condition: WordsCondition;
  readonly phrase: Phrase;
  readonly found: ChunkedSlotSet;
  /** Slots that were put and not looked at yet. */
  readonly unknown: ChunkedSlotSet;
  /** Whether what was there at first has been looked at. */
  isWhole: boolean;
  making: Promise<void> | null;
  usedAtMs: number;
}

/**
 * Which items have the phrases that are being asked for: found, once and then of what is written, among the items that
 * have all their words, by reading the positions of these or, where there are none, the texts. It costs nothing while
 * nobody asks for a phrase.
 */
export class PhraseMatches {
  private readonly known = new Map<string, KnownPhrase>();

  /**
   * `decided`: is told the slots that were not known to have a phrase, or not to have it, before. `positions`: null
   * where all are found in texts.
   */
  constructor(
    private readonly items: PhraseItems,
    private readonly decided: (slots: readonly number[]) => void,
    readonly positions: PhrasePositions | null = null,
  ) {}

  /** Finds out what is not known of a phrase. Await it before `has` and `slots`. null: nothing to wait for. */
  prepare(condition: WordsCondition): Promise<void> | null {
    const known = this.get(condition);
    return known.isWhole && known.unknown.size === 0 ? null : this.makeWhole(known);
  }

  has(slot: number, condition: WordsCondition): boolean {
    return this.get(condition).found.has(slot);
  }

  /** The set belongs to the caller. */
  slots(condition: WordsCondition): ChunkedSlotSet {
    return this.get(condition).found.clone();
  }

  *slotsInSteps(condition: WordsCondition): Generator<undefined, ChunkedSlotSet> {
    yield;
    return this.slots(condition);
  }

  put(slot: number): void {
    for (const [key, { unknown, making, usedAtMs }] of this.known) {
      unknown.add(slot);
      // Nobody waits for it any more, and what is written would be remembered without end.
      if (unknown.size >= UNKNOWN_MAX && making === null && performance.now() - usedAtMs >= KEPT.ms)
        this.known.delete(key);
    }
  }

  remove(slot: number): void {
    this.positions?.remove(slot);
    for (const { unknown, found } of this.known.values()) {
      unknown.remove(slot);
      found.remove(slot);
    }
  }

  get memoryBytes(): number {
    let bytes = 0;
    for (const { found, unknown } of this.known.values()) bytes += found.memoryBytes + unknown.memoryBytes;
    return bytes + (this.positions?.memoryBytes ?? 0);
  }

  private async makeWhole(known: KnownPhrase): Promise<void> {
    for (let pass = 0; pass < PASSES_MAX; pass++) {
      if (known.isWhole && known.unknown.size === 0) return;
      await (known.making ??= this.look(known).finally(() => {
        known.making = null;
        // Those who wait ask for it next.
        this.use(known);
      }));
    }
  }

  private async look(known: KnownPhrase): Promise<void> {
    const { condition, unknown } = known;
    if (!known.isWhole) {
      const candidates = await inSlices(this.items.candidates(condition));
      const left = await this.decideByPositions(known, candidates);
      await this.lookAt(known, [...left.toArray()]);
      known.isWhole = true;
    }
    await this.lookAt(known, [...unknown.toArray()]);
  }

  /** Answers those that are to be looked for in texts. */
  private async decideByPositions(known: KnownPhrase, candidates: ChunkedSlotSet): Promise<ChunkedSlotSet> {
    if (this.positions === null) return candidates;
    return this.positions.decide(known.phrase, candidates, (slots) => {
      // Those that were put meanwhile may be no candidates.
      const having = slots.filter((slot) => !known.unknown.has(slot));
      for (const slot of having) known.found.add(slot);
      this.decided(having);
    });
  }

  /** One that is put again meanwhile stays unknown. */
  private async lookAt(known: KnownPhrase, slots: readonly number[]): Promise<void> {
    const { condition, found, unknown } = known;
    const { items } = this;
    for (let from = 0; from < slots.length; from += TEXTS_PER_READ) {
      const some = slots.slice(from, from + TEXTS_PER_READ);
      for (const slot of some) unknown.remove(slot);
      const wanted = some.filter((slot) => items.isCandidate(slot, condition));
      this.positions?.noteTexts(wanted.length);
      let has: boolean[];
      try {
        has = await inSlices(this.test(known, await items.read(wanted)));
      } catch (error) {
        for (const slot of some) unknown.add(slot);
        throw error;
      }
      wanted.forEach((slot, i) => {
        if (has[i] && !unknown.has(slot) && items.isCandidate(slot, condition)) found.add(slot);
      });
      this.decided(some);
    }
  }

  private *test(
    { phrase, condition }: Pick<KnownPhrase, 'phrase' | 'condition'>,
    read: readonly ({ text: string | null; metadata: JsonObject } | null)[],
  ): Generator<undefined, boolean[]> {
    const analyser = analyserOfField(condition, this.items.analyser);
    const fields = fieldsCutBy(condition.analyser, this.items.fields);
    const passed: boolean[] = [];
    for (const item of read) {
      let has = false;
      for (const line of item === null ? [] : keywordLines(item.text, item.metadata, fields)) {
        has = yield* hasPhrase(analyser, phrase, line);
        if (has) break;
      }
      passed.push(has);
      yield;
    }
    return passed;
  }

  private get(condition: WordsCondition): KnownPhrase {
    let known = this.known.get(keyOf(condition));
    if (known === undefined) {
      this.makeRoom();
      known = {
        condition,
        phrase: phraseOf(analyserOfField(condition, this.items.analyser), condition.query, condition.near ?? 0),
        found: new ChunkedSlotSet(),
        unknown: new ChunkedSlotSet(),
        isWhole: false,
        making: null,
        usedAtMs: 0,
      };
    }
    this.use(known);
    return known;
  }

  /** The last one is that which was used last. */
  private use(known: KnownPhrase): void {
    known.usedAtMs = performance.now();
    const key = keyOf(known.condition);
    this.known.delete(key);
    this.known.set(key, known);
  }

  /** Errors: overloaded, when very many phrases are asked for at once. */
  private makeRoom(): void {
    const nowMs = performance.now();
    const { known } = this;
    // The first ones were used before the others.
    for (const [key, { making, usedAtMs }] of known) {
      const keptMs = known.size >= KEPT.most ? KEPT.usedMs : known.size >= KEPT.least ? KEPT.ms : IDLE_MS;
      if (nowMs - usedAtMs < keptMs) break;
      if (making === null) known.delete(key);
    }
    if (known.size >= KEPT.most)
      throw new QuiverError(
        'overloaded',
        `more than ${KEPT.most} phrases were asked for in ${KEPT.usedMs / 1_000} seconds: try again later`,
      );
  }
}

function keyOf({ analyser, near = 0, query }: WordsCondition): string {
  return `${analyser ?? ''} ${near} ${query}`;
}
