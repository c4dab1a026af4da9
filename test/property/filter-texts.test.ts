import { matches } from '../../node/engine/filter/matches';
import { MemoryFilterIndex } from '../../node/engine/filter/memory-filter-index';
import type { Filter, JsonObject, JsonValue } from '../../shared/contract/filter/filter';
import { parseFilter } from '../../shared/contract/filter/parse-filter';
import { runSeed, seededRandom } from '../support/values/random';

/** Conditions on texts of many scripts: the index against the plain predicate. */

/** Few, so that patterns are often found: with two cases, of one byte, of two, and of two code units. */
const LETTERS = [
  ...'aAbBsS',
  'é',
  'É',
  'ß',
  'ẞ',
  'ſ',
  'K',
  'k',
  'µ',
  'Σ',
  'σ',
  'ς',
  'ı',
  'İ',
  'i',
  'ж',
  'Ж',
  'ǅ',
  '中',
  '😀',
  '\u{10400}',
  '\u{10428}',
  ' ',
  '*',
  '?',
  '\\',
];
const ITEMS = 9_000;

class Texts {
  private readonly random = seededRandom(runSeed('filter-texts'));

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  text(length: number): string {
    return Array.from({ length: this.below(length + 1) }, () => LETTERS[this.below(LETTERS.length)]).join('');
  }

  value(): JsonValue {
    const kind = this.below(12);
    if (kind === 0) return this.below(100);
    if (kind === 1) return null;
    if (kind === 2) return [this.text(8), this.below(3), this.text(8), null];
    if (kind === 3) return this.text(300);
    if (kind === 4) return `${this.text(4)}${'x'.repeat(127)}${this.text(6)}`;
    if (kind === 5) return this.date();
    return this.text(14);
  }

  /** A date in one of its forms, or what is nearly one. */
  date(): string {
    const two = (from: number, to: number): string => String(from + this.below(to - from + 1)).padStart(2, '0');
    const day = `${['1969', '1970', '2000', '2023', '2024', '0000', '9999'][this.below(7)]}-${two(0, 13)}-${two(0, 32)}`;
    const fraction = ['', '', '.5', '.500', ',000001', '.1234567', '.'][this.below(7)];
    const time = ['', `T${two(0, 24)}:${two(0, 60)}`, ` ${two(0, 23)}:${two(0, 59)}:${two(58, 61)}${fraction}`][
      this.below(3)
    ];
    const offset = ['', 'Z', 'z', ' Z', '+02', '-0330', '+05:30', '+24:00', ' +01:60', ' ', '+', '+02:'][
      this.below(12)
    ];
    return day + time + (time === '' && this.below(9) > 0 ? '' : offset) + (this.below(30) === 0 ? 'x' : '');
  }

  bound(): JsonValue {
    const kind = this.below(6);
    if (kind < 3)
      return {
        $date: `${['1969', '1970', '2000', '2023', '2024'][this.below(5)]}-0${1 + this.below(9)}-11T1${this.below(9)}:00:00.5+02:00`,
      };
    return kind === 3 ? this.below(60) : this.text(3);
  }

  pattern(): string {
    const parts = ['*', '?', '\\*', '\\?', '\\\\', '\\a'];
    const piece = (): string =>
      this.below(2) === 0 ? parts[this.below(parts.length)] : this.text(2).replaceAll('\\', '');
    return Array.from({ length: 1 + this.below(5) }, piece).join('');
  }

  item(): JsonObject {
    const kind = this.below(10);
    if (kind === 0) return {};
    if (kind === 1) return { 'a.b': this.value(), a: { b: this.value() } };
    return { title: this.value(), a: { b: this.value() }, n: this.below(4) };
  }

  condition(): JsonObject {
    const fold: JsonObject = this.below(2) === 0 ? { case: 'fold' } : {};
    switch (this.below(6)) {
      case 0:
        return { $prefix: this.text(4), ...fold };
      case 1:
        return { $contains: this.text(4), ...fold };
      case 2:
        return { $like: `${this.pattern()}*`, ...fold };
      case 3: {
        const [low, high] = [this.bound(), this.bound()];
        return { $between: typeof low === typeof high ? [low, high] : [low, low] };
      }
      case 4:
        return { [['$gt', '$gte', '$lt', '$lte', '$eq', '$ne'][this.below(6)]]: this.bound() };
      default:
        return { $like: this.pattern(), ...fold };
    }
  }

  filter(): JsonObject {
    const path = ['title', 'a.b', 'title', 'absent'][this.below(4)];
    const one: JsonObject = { [path]: this.condition() };
    const kind = this.below(8);
    if (kind === 0) return { $not: one };
    if (kind === 1) return { ...one, n: { $gte: this.below(4) } };
    if (kind === 2) return { $or: [one, { 'a.b': this.condition() }] };
    if (kind === 3) return { $and: [one, { title: this.condition() }, { $not: { 'a.b': this.condition() } }] };
    return one;
  }
}

function expectSame(index: MemoryFilterIndex, model: Map<number, JsonObject>, filter: Filter): number {
  const expected = [...model].filter(([, item]) => matches(filter, item)).map(([slot]) => slot);
  const found = index.resolve(filter).toArray();
  const isSame = found.join() === Uint32Array.from(expected).sort().join();
  if (!isSame) throw new Error(`${JSON.stringify(filter)}: ${found.length} instead of ${expected.length}`);
  return found.length;
}

test('the index finds the texts that pass, through puts, removes and reloads, while it is put in order and afterwards', async () => {
  const texts = new Texts();
  const model = new Map<number, JsonObject>();
  const options = { metadataOf: (slot: number): JsonObject => model.get(slot) as JsonObject };
  let index = new MemoryFilterIndex(options);
  const put = (slot: number): void => {
    const before = model.get(slot);
    if (before !== undefined) index.remove(slot, before);
    const item = texts.item();
    model.set(slot, item);
    index.put(slot, item);
  };
  for (let slot = 0; slot < ITEMS; slot++) put(slot);
  let found = 0;
  for (let round = 0; round < 6; round++) {
    for (let i = 0; i < 60; i++) {
      const filter = parseFilter(texts.filter()) as Filter;
      if (i % 2 === 0) await index.prepare(filter);
      found += expectSame(index, model, filter);
    }
    for (let i = 0; i < 1_500; i++) put(texts.below(ITEMS + 1_000));
    if (round === 3) index = MemoryFilterIndex.load(Buffer.concat([...index.save()]), options);
  }
  expect(found).toBeGreaterThan(20_000);
});

test('like is what a regular expression finds, with characters of two code units as one', () => {
  const texts = new Texts();
  let found = 0;
  for (let i = 0; i < 20_000; i++) {
    const pattern = texts.pattern();
    const text =
      texts.below(2) === 0 ? texts.text(6) : pattern.replaceAll('*', () => texts.text(2)).replaceAll('\\', '');
    const source = pattern.replaceAll(/\\([^])|[^]/gu, (part: string, escaped?: string) => {
      if (escaped === undefined && part === '*') return '[^]*';
      if (escaped === undefined && part === '?') return '[^]';
      return `\\u{${((escaped ?? part).codePointAt(0) as number).toString(16)}}`;
    });
    const isLike = matches(parseFilter({ a: { $like: pattern } }) as Filter, { a: text });
    if (new RegExp(`^${source}$`, 'u').test(text) !== isLike)
      throw new Error(`${JSON.stringify(text)} like ${JSON.stringify(pattern)}: ${isLike}`);
    found += Number(isLike);
  }
  expect(found).toBeGreaterThan(2_000);
});

test('half of a character finds what has the whole one', async () => {
  const model = new Map<number, JsonObject>();
  for (let slot = 0; slot < ITEMS; slot++)
    model.set(slot, { title: slot % 5 === 0 ? `${slot}\u{10400}ab` : `${slot}` });
  const index = new MemoryFilterIndex({ metadataOf: (slot) => model.get(slot) as JsonObject });
  for (const [slot, item] of model) index.put(slot, item);
  for (const condition of [
    { $contains: '\udc00ab' },
    { $contains: '\udc00ab', case: 'fold' },
    { $contains: '\ud801' },
  ]) {
    const filter = parseFilter({ title: condition }) as Filter;
    await index.prepare(filter);
    expectSame(index, model, filter);
  }
});
