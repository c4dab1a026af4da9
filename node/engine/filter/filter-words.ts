import type { JsonValue } from '../../../shared/contract/filter/filter';
import { type CompositeKeys, compositeKeys } from './composite-keys';
import { stringKey } from '../../../shared/contract/shard/value-key';

/** Kinds of values, as the addon numbers them (node/engine/native/filter/filter_field.h). */
export const VALUE = { none: 0, null: 1, true: 2, false: 3, number: 4, string: 5, composite: 6 } as const;

/** Room for most items and filters. */
const FIRST_WORDS = 256;

const double = new Float64Array(1);
const doubleWords = new Uint32Array(double.buffer);

/**
 * A growing buffer of 32-bit words, in which items and filters are passed to the addon
 * (node/engine/native/filter/filter_words.h reads it): numbers are two words; a string is (characters × 2 + wide) and
 * its characters, of one byte each if all are below U+0100, otherwise of two.
 */
export class FilterWords {
  words = new Uint32Array(FIRST_WORDS);
  length = 0;
  private bytes = new Uint8Array(this.words.buffer);
  private units = new Uint16Array(this.words.buffer);

  clear(): void {
    this.length = 0;
  }

  word(value: number): void {
    if (this.length === this.words.length) this.grow(1);
    this.words[this.length++] = value;
  }

  number(value: number): void {
    if (this.length + 2 > this.words.length) this.grow(2);
    double[0] = value;
    this.words[this.length++] = doubleWords[0];
    this.words[this.length++] = doubleWords[1];
  }

  text(text: string): void {
    const { length } = text;
    const size = 1 + ((length + 3) >>> 2);
    if (this.length + size > this.words.length) this.grow(size);
    const { bytes } = this;
    const from = (this.length + 1) * 4;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 0xff) return this.wideText(text);
      bytes[from + i] = unit;
    }
    this.words[this.length] = length * 2;
    this.length += size;
  }

  /** A string of two bytes per character, whatever they are. */
  wideText(text: string): void {
    const { length } = text;
    const size = 1 + ((length + 1) >>> 1);
    if (this.length + size > this.words.length) this.grow(size);
    const { units } = this;
    const from = (this.length + 1) * 2;
    for (let i = 0; i < length; i++) units[from + i] = text.charCodeAt(i);
    this.words[this.length] = length * 2 + 1;
    this.length += size;
  }

  /** Kind and content of a value; `head` is added to the kind. Composite keys of the enclosing value may be given. */
  value(value: JsonValue, head = 0, keys?: CompositeKeys): void {
    if (typeof value === 'string') {
      this.word(head + VALUE.string);
      this.text(stringKey(value));
    } else if (typeof value === 'number') {
      this.word(head + VALUE.number);
      this.number(value);
    } else if (value === null) this.word(head + VALUE.null);
    else if (typeof value === 'boolean') this.word(head + (value ? VALUE.true : VALUE.false));
    else {
      const key = (keys ?? compositeKeys(value)).get(value);
      this.word(head + (key === undefined ? VALUE.none : VALUE.composite));
      if (key !== undefined) this.text(key);
    }
  }

  private grow(more: number): void {
    const grown = new Uint32Array(Math.max(this.words.length * 2, this.length + more));
    grown.set(this.words);
    this.words = grown;
    this.bytes = new Uint8Array(grown.buffer);
    this.units = new Uint16Array(grown.buffer);
  }
}
