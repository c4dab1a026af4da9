/** More than enough for a quiet process; a power of two. */
const FIRST_PLACES = 16;
const NUMBER_MAX = 0xffffffff;

/**
 * Values each under a number of its own, for what comes and goes thousands of times a second. Numbers rise from 1, start
 * again after 2^32 - 1, and name nothing else while in use.
 *
 * A Map would do but for the garbage collector: whenever V8 gives a Map or Set a new table, the old one keeps its entries
 * and points to the new one. Once such a table has lasted into the old generation, all that ever passes through its
 * successors outlives the quick collections with it, until the next full one; see docs/performance.md.
 */
export class NumberTable<Value extends object> {
  /** The place of a number is its low bits; a power of two, at most half of them taken. */
  private values: (Value | undefined)[] = new Array<Value | undefined>(FIRST_PLACES).fill(undefined);
  private numbers = new Uint32Array(FIRST_PLACES);
  private last: number;
  private count = 0;

  /** `last`: the number before the first. */
  constructor(options: { last?: number } = {}) {
    this.last = options.last ?? 0;
  }

  get size(): number {
    return this.count;
  }

  /** Answers the value's number. */
  add(value: Value): number {
    if (this.count * 2 >= this.values.length) this.grow();
    const mask = this.values.length - 1;
    do this.last = this.last === NUMBER_MAX ? 1 : this.last + 1;
    while (this.values[this.last & mask] !== undefined);
    this.values[this.last & mask] = value;
    this.numbers[this.last & mask] = this.last;
    this.count += 1;
    return this.last;
  }

  get(number: number): Value | undefined {
    const place = number & (this.values.length - 1);
    return this.numbers[place] === number ? this.values[place] : undefined;
  }

  /** Answers what was taken out, if the number named anything. */
  remove(number: number): Value | undefined {
    const value = this.get(number);
    if (value === undefined) return undefined;
    this.values[number & (this.values.length - 1)] = undefined;
    this.count -= 1;
    return value;
  }

  /** Takes all out, in the order in which they came (until numbers start again). */
  removeAll(): Value[] {
    const taken = [...this.places()].sort((a, b) => a.number - b.number).map(({ value }) => value);
    this.values.fill(undefined);
    this.count = 0;
    return taken;
  }

  private *places(): Iterable<{ number: number; value: Value }> {
    for (const [place, value] of this.values.entries()) if (value !== undefined) yield { number: this.numbers[place], value };
  }

  private grow(): void {
    const places = [...this.places()];
    this.values = new Array<Value | undefined>(this.values.length * 2).fill(undefined);
    this.numbers = new Uint32Array(this.values.length);
    for (const { number, value } of places) {
      const place = number & (this.values.length - 1);
      this.values[place] = value;
      this.numbers[place] = number;
    }
  }
}
