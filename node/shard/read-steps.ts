/** Items of the first step: few, because each may have a text of the greatest length. */
const FIRST = 2;
/** By so many times more are read in the next one, if the last ones were short. */
const GROWTH = 8;
/** Of any step. */
const ITEMS_MAX = 256;

/**
 * How many items to read at once where their bytes are bounded: what is read beyond the bound is read in vain, and no item says its
 * length beforehand. Without a bound, all at once.
 */
export class ReadSteps {
  private step: number;
  private bytes = 0;
  private longest = 1;

  constructor(private readonly bytesMax: number) {
    this.step = bytesMax === Infinity ? Infinity : FIRST;
  }

  /** Whether there are as many bytes as there may be. */
  get isFull(): boolean {
    return this.bytes >= this.bytesMax;
  }

  /** How many to read now. */
  next(): number {
    const { step } = this;
    if (step === Infinity) return step;
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
