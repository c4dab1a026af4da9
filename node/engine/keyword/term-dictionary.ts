import { detachedText } from '../../../shared/base/text/detached-text';
import { grownUint32 } from './growable';

/** Bytes that a term costs besides its characters: an entry of the map, the string's header, its place in the table. */
const TERM_OVERHEAD_BYTES = 72;

/**
 * Numbers the terms of an index without gaps, and counts the live documents of each; numbers of dead terms are reused.
 */
export class TermDictionary {
  private readonly numbers = new Map<string, number>();
  private readonly texts: (string | undefined)[] = [];
  private readonly freeNumbers: number[] = [];
  private characters = 0;
  /** Terms that came since {@link keepFresh}; null: nobody asked for them. */
  fresh: string[] | null = null;
  /** By term: how many live documents hold it. */
  documentFrequencies: Uint32Array<ArrayBuffer> = new Uint32Array(64);
  /**
   * By term: how many texts that are not yet documents hold it. Such a term keeps its number even without a document.
   */
  private pins: Uint32Array<ArrayBuffer> = new Uint32Array(64);
  /** By term: its hash; 0: not made yet. Empty until somebody asks for one. */
  private hashes: Uint32Array<ArrayBuffer> = new Uint32Array(0);

  find(text: string): number | undefined {
    return this.numbers.get(text);
  }

  /** The term's number; an unknown term gets one, with frequency 0. */
  intern(text: string): number {
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    const number = this.freeNumbers.pop() ?? this.texts.length;
    const own = detachedText(text);
    this.texts[number] = own;
    this.numbers.set(own, number);
    this.characters += text.length;
    this.fresh?.push(own);
    this.documentFrequencies = grownUint32(this.documentFrequencies, this.texts.length);
    this.documentFrequencies[number] = 0;
    if (number < this.hashes.length) this.hashes[number] = 0;
    return number;
  }

  /** Writes the hashes of the texts of so many terms ({@link hashOfTerm}) into `target`, which may be `terms`. */
  hashesOf(terms: Uint32Array, count: number, target: Uint32Array): void {
    if (this.hashes.length < this.texts.length) this.hashes = grownUint32(this.hashes, this.texts.length);
    const { hashes } = this;
    for (let i = 0; i < count; i++) {
      const term = terms[i];
      if (hashes[term] === 0) hashes[term] = hashOfTerm(this.texts[term] as string);
      target[i] = hashes[term];
    }
  }

  forgetHashes(): void {
    this.hashes = new Uint32Array(0);
  }

  /** From now on, terms that come are noted. */
  keepFresh(): void {
    this.fresh = [];
  }

  forgetFresh(): void {
    this.fresh = null;
  }

  pin(number: number): void {
    this.pins = grownUint32(this.pins, this.texts.length);
    this.pins[number]++;
  }

  unpin(number: number): void {
    this.pins[number]--;
  }

  /** Drops a term that no live document holds, unless it is pinned. */
  release(number: number): void {
    if (number < this.pins.length && this.pins[number] > 0) return;
    const text = this.texts[number] as string;
    this.numbers.delete(text);
    this.texts[number] = undefined;
    this.characters -= text.length;
    this.freeNumbers.push(number);
  }

  /** undefined for a free number. */
  text(number: number): string | undefined {
    return this.texts[number];
  }

  /** One more than the highest number given. */
  get count(): number {
    return this.texts.length;
  }

  get memoryBytes(): number {
    return (
      this.numbers.size * TERM_OVERHEAD_BYTES +
      this.characters +
      this.documentFrequencies.byteLength +
      this.pins.byteLength +
      this.hashes.byteLength
    );
  }
}

/** FNV-1a of its code units, never 0. Files of positions depend on it. */
export function hashOfTerm(term: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < term.length; i++) hash = Math.imul(hash ^ term.charCodeAt(i), 0x01000193);
  return hash >>> 0 || 1;
}
