/** Items of the first step: it may have a text of the greatest length. */
const FIRST = 1;
/** By so many times more are read in the next one, if the last ones were short. */
const GROWTH = 8;
/** Of any step: those behind short ones may be long. */
const ITEMS_MAX = 64;

/**
 * How many items to read at once where their bytes are bounded: what is read beyond the bound is read in vain, and no
 * item says its length beforehand. Without a bound, all at once.
 */
export class ReadSteps {
  private step = FIRST;
  private bytes = 0;
  private longest = 1;

  constructor(private readonly bytesMax: number) {}

  /** Whether there are as many bytes as there may be. */
  get isFull(): boolean {
    return this.bytes >= this.bytesMax;
  }

  /** How many to read now. */
  next(): number {
    if (this.bytesMax === Infinity) return Infinity;
    const { step } = this;
    const fitting = Math.max(1, Math.floor((this.bytesMax - this.bytes) / this.longest));
    this.step = Math.min(step * GROWTH, ITEMS_MAX);
    return Math.min(step, fitting);
  }

  /** Counts an item that goes into the answer. */
  add(bytes: number): void {
    this.bytes += bytes;
    if (bytes > this.longest) this.longest = bytes;
  }
}
