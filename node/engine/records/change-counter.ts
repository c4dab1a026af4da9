/** Words of the shared memory. */
const CHANGES = 0;
const LIVE_COUNT = 1;
/** Behind them, in a word of 8 bytes. */
const NEXT_EXPIRY_OFFSET = 8;
const IS_USED = 4;
const WORDS = 6;

/**
 * Tells readers on other threads whether what they read may have changed meanwhile (a seqlock; Boehm, "Can seqlocks get
 * along with programming language memory models?", 2012). The number is odd while something changes that can make an
 * answer wrong: an item goes or is replaced, bytes move. Adding a new item is no such change. One writer, any number of
 * readers (ChangeWatch). Carries the number of live items, too, and when
 * the next one expires: from then on readers leave it to the shard's thread what is there.
 */
export class ChangeCounter {
  readonly memory = new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT);
  private readonly words = new Int32Array(this.memory);
  private readonly nextExpiry = new Float64Array(this.memory, NEXT_EXPIRY_OFFSET, 1).fill(Infinity);
  private depth = 0;

  /**
   * Milliseconds since the Unix epoch; -Infinity: one has, and is still to be hidden. Set it before an item that
   * expires can be found.
   */
  set nextExpiryMs(atMs: number) {
    this.nextExpiry[0] = atMs;
  }

  set liveCount(count: number) {
    this.words[LIVE_COUNT] = count;
  }

  /** Whether a reader searched since the last call. */
  takeUse(): boolean {
    const isUsed = this.words[IS_USED] !== 0;
    if (isUsed) this.words[IS_USED] = 0;
    return isUsed;
  }

  /**
   * Call before the first step that a reader could see. Calls nest; each needs its `end`, unless what is read is wrong
   * for good.
   */
  begin(): void {
    if (this.depth++ === 0) this.step();
  }

  /** Call after the last step. */
  end(): void {
    if (--this.depth === 0) this.step();
  }

  /** From here on readers get no answers any more. */
  close(): void {
    this.begin();
  }

  private step(): void {
    Atomics.store(this.words, CHANGES, (this.words[CHANGES] + 1) | 0);
    // On ARM a store may be seen after later ones; a load that is ordered behind it holds those back.
    Atomics.load(this.words, CHANGES);
  }
}

/** A place of this thread alone; storing there orders what was loaded before. */
const FENCE = new Int32Array(1);

/** The reader's side of a {@link ChangeCounter}. */
export class ChangeWatch {
  private readonly words: Int32Array;
  private readonly nextExpiry: Float64Array;

  constructor(memory: SharedArrayBuffer) {
    this.words = new Int32Array(memory);
    this.nextExpiry = new Float64Array(memory, NEXT_EXPIRY_OFFSET, 1);
  }

  /** Infinity while no item expires. Read it after the items, and before `isUnchanged`. */
  get nextExpiryMs(): number {
    return this.nextExpiry[0];
  }

  get liveCount(): number {
    return Atomics.load(this.words, LIVE_COUNT);
  }

  /** Says that it is used (takeUse). */
  noteUse(): void {
    if (this.words[IS_USED] === 0) this.words[IS_USED] = 1;
  }

  /** The number to pass to `isUnchanged` after reading; -1 while something changes. */
  begin(): number {
    const changes = Atomics.load(this.words, CHANGES);
    // Of a number that went below 0, only its being the same matters.
    return (changes & 1) === 0 ? changes >>> 0 : -1;
  }

  /** Whether all that was read since `begin` belongs together and was true then. */
  isUnchanged(begun: number): boolean {
    // On ARM a plain load may be done after a later atomic one, but not after a store that is ordered before that.
    Atomics.store(FENCE, 0, 0);
    return Atomics.load(this.words, CHANGES) >>> 0 === begun;
  }
}
