/** More than enough for an idle process; a power of two. */
const FIRST_PLACES = 16;
const NUMBER_MAX = 0xffffffff;

/**
 * Gives each value a number, for values that come and go thousands of times a second. Numbers rise from 1, start again
 * after 2^32 - 1, and are unique among the values in the table.
 *
 * A Map would do, if not for the garbage collector. Whenever V8 gives a Map or Set a new table, the old one keeps its
 * entries and points to the new one. Once such a table has reached the old generation, everything that ever passes
 * through its successors survives the quick collections until the next full one; see docs/lab/README.md.
 */
export class NumberTable<Value extends object> {
  /** A number's place is its low bits. The length is a power of two, and at most half of the places are taken. */
  private values: (Value | undefined)[] = new Array<Value | undefined>(FIRST_PLACES).fill(undefined);
  private numbers = new Uint32Array(FIRST_PLACES);
  private last: number;
  private count = 0;

  /** `last`: the number before the first one given out. */
  constructor(options: { last?: number } = {}) {
    this.last = options.last ?? 0;
  }

  get size(): number {
    return this.count;
  }

  /** Adds a value and answers its number. */
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

  /** Removes a value and answers it; undefined if the number names none. */
  remove(number: number): Value | undefined {
    const value = this.get(number);
    if (value === undefined) return undefined;
    this.values[number & (this.values.length - 1)] = undefined;
    this.count -= 1;
    return value;
  }

  /** Removes all values and answers them in the order in which they were added (until numbers start again). */
  removeAll(): Value[] {
    const taken = [...this.places()].sort((a, b) => a.number - b.number).map(({ value }) => value);
    this.values.fill(undefined);
    this.count = 0;
    return taken;
  }

  private *places(): Iterable<{ number: number; value: Value }> {
    for (const [place, value] of this.values.entries())
      if (value !== undefined) yield { number: this.numbers[place], value };
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
