import { type DocumentTable, NO_DOCUMENT } from './document-table';
import { type Phrase, standTogether, type WordsTogether } from '../../../shared/base/text/phrase';
import { hashOfTerm, type TermDictionary } from './term-dictionary';

/** Of a text with more distinct terms, no order is kept: a place takes at most 16 bits. */
const TERMS_MAX = 0xffff;
/** Between two lines of an item, and behind the last. */
const LINE_END = 0;
/** Words that are packed in one step. */
const WORDS_PER_STEP = 8_192;

/** A phrase in the numbers that the index has for its terms now, until another step. */
export interface WantedPhrase {
  /** For each word of the phrase, which of the distinct ones it is. */
  readonly places: Uint32Array;
  /** By distinct term: its number in the dictionary, -1 for none; and its hash. */
  readonly numbers: Int32Array;
  readonly hashes: Uint32Array;
  /** By distinct term: its place among the terms of the text that is looked at, from 1; 0: it is not there. */
  readonly ranks: Uint32Array;
  readonly words: WordsTogether<number> & { readonly terms: Uint32Array };
}

/** The order of a text, from one byte to another. */
interface Order {
  bytes: Buffer;
  from: number;
  to: number;
  bits: number;
}

/**
 * The order of the words in a text, beside an index that knows which words it has: for each word its place among the
 * distinct terms of the text in the order of their hashes, in as few bits as these places take. So a text of 30 words
 * takes 19 bytes, and nothing of the numbers of documents and terms, which change, is in it.
 */
export class WordOrders {
  /** What is needed for one text: its words, its terms and their hashes. */
  private unpacked = new Uint32Array(1024);
  private terms = new Uint32Array(1024);
  private hashes = new Uint32Array(1024);

  constructor(
    private readonly documents: DocumentTable,
    private readonly dictionary: TermDictionary,
  ) {}

  /** Whether there is a text with terms in a slot. */
  isThere(slot: number): boolean {
    return this.documents.documentOf(slot) !== NO_DOCUMENT;
  }

  /**
   * The order of the text in a slot, which must stay there until the last step; `lines`: the terms of each of its lines
   * (termsInOrder). null: it can't be told, because two of its terms have the same hash, it has too many, or these are
   * not its lines.
   */
  *pack(slot: number, lines: readonly (readonly string[])[]): Generator<undefined, Buffer | null> {
    const ranks = this.ranksOf(slot);
    if (ranks === null) return null;
    const bits = bitsOf(ranks.size);
    const count = lines.reduce((sum, line) => sum + line.length + 1, 0);
    const bytes = Buffer.alloc(Math.ceil((count * bits) / 8));
    let at = 0;
    let pending = 0;
    let pendingBits = 0;
    let words = 0;
    for (const line of lines) {
      for (let i = 0; i <= line.length; i++) {
        const rank = i === line.length ? LINE_END : ranks.get(line[i]);
        if (rank === undefined) return null;
        pending |= rank << pendingBits;
        for (pendingBits += bits; pendingBits >= 8; pendingBits -= 8) {
          bytes[at++] = pending & 0xff;
          pending >>>= 8;
        }
        if (++words % WORDS_PER_STEP === 0) yield;
      }
    }
    if (pendingBits > 0) bytes[at] = pending;
    return bytes;
  }

  /** To be called again after each step, because terms may have other numbers then. */
  wanted({ terms, borders, near }: Phrase): WantedPhrase {
    const distinct = [...new Set(terms)];
    return {
      places: Uint32Array.from(terms, (term) => distinct.indexOf(term)),
      numbers: Int32Array.from(distinct, (term) => this.dictionary.find(term) ?? -1),
      hashes: Uint32Array.from(distinct, hashOfTerm),
      ranks: new Uint32Array(distinct.length),
      words: { terms: new Uint32Array(terms.length), borders, near },
    };
  }

  /** Whether the text in a slot, whose order is in `bytes` from `from` to `to`, has a phrase. */
  has(slot: number, wanted: WantedPhrase, bytes: Buffer, from: number, to: number): boolean {
    const document = this.documents.documentOf(slot);
    if (document === NO_DOCUMENT || wanted.places.length === 0) return false;
    const count = this.documents.termCount(document);
    if (!this.rank(document, count, wanted)) return false;
    const { places, ranks, words } = wanted;
    for (let i = 0; i < places.length; i++) words.terms[i] = ranks[places[i]];
    const order = { bytes, from, to, bits: bitsOf(count) };
    return words.near === 0 ? this.follow(words, order) : this.stand(words, order);
  }

  forgetHashes(): void {
    this.dictionary.forgetHashes();
  }

  /** Finds the places of the terms; answers whether all of them are there. */
  private rank(document: number, count: number, { numbers, hashes, ranks }: WantedPhrase): boolean {
    this.readTerms(document, count);
    const { terms, hashes: hashed } = this;
    for (let j = 0; j < hashes.length; j++) {
      const wanted = hashes[j];
      let rank = 1;
      let isThere = false;
      for (let i = 0; i < count; i++) {
        const hash = hashed[i];
        if (hash < wanted) rank += 1;
        else if (hash === wanted && terms[i] === numbers[j]) isThere = true;
      }
      if (!isThere) return false;
      ranks[j] = rank;
    }
    return true;
  }

  /** Whether one of the words is directly behind the other, as in isWithin: no word is the end of a line. */
  private follow({ terms, borders }: WordsTogether<number>, { bytes, from, to, bits }: Order): boolean {
    const mask = (1 << bits) - 1;
    let pending = 0;
    let pendingBits = 0;
    let met = 0;
    for (let at = from; at < to; at++) {
      pending |= bytes[at] << pendingBits;
      for (pendingBits += 8; pendingBits >= bits; pendingBits -= bits) {
        const rank = pending & mask;
        pending >>>= bits;
        while (met > 0 && rank !== terms[met]) met = borders[met - 1];
        if (rank !== terms[met]) continue;
        met += 1;
        if (met === terms.length) return true;
      }
    }
    return false;
  }

  private stand(phrase: WordsTogether<number>, { bytes, from, to, bits }: Order): boolean {
    const wordsMax = Math.ceil(((to - from) * 8) / bits);
    if (wordsMax > this.unpacked.length) this.unpacked = new Uint32Array(wordsMax * 2);
    const { unpacked } = this;
    const mask = (1 << bits) - 1;
    let pending = 0;
    let pendingBits = 0;
    let count = 0;
    for (let at = from; at < to; at++) {
      pending |= bytes[at] << pendingBits;
      for (pendingBits += 8; pendingBits >= bits; pendingBits -= bits) {
        const rank = pending & mask;
        pending >>>= bits;
        if (rank !== LINE_END) unpacked[count++] = rank;
        else if (count > 0) {
          if (standTogether(phrase, unpacked.subarray(0, count))) return true;
          count = 0;
        }
      }
    }
    return count > 0 && standTogether(phrase, unpacked.subarray(0, count));
  }

  /** The places of the terms of a text, from 1. */
  private ranksOf(slot: number): Map<string, number> | null {
    const { documents, dictionary } = this;
    const document = documents.documentOf(slot);
    const count = document === NO_DOCUMENT ? 0 : documents.termCount(document);
    if (count === 0 || count > TERMS_MAX) return null;
    this.readTerms(document, count);
    const { terms, hashes } = this;
    const byHash = new Float64Array(count);
    for (let i = 0; i < count; i++) byHash[i] = hashes[i] * (TERMS_MAX + 1) + i;
    byHash.sort();
    const ranks = new Map<string, number>();
    let last = -1;
    for (let i = 0; i < count; i++) {
      const at = byHash[i] % (TERMS_MAX + 1);
      if (hashes[at] === last) return null;
      last = hashes[at];
      ranks.set(dictionary.text(terms[at]) as string, i + 1);
    }
    return ranks;
  }

  private readTerms(document: number, count: number): void {
    if (count > this.terms.length) {
      this.terms = new Uint32Array(count * 2);
      this.hashes = new Uint32Array(count * 2);
    }
    this.documents.copyTerms(document, this.terms);
    this.dictionary.hashesOf(this.terms, count, this.hashes);
  }
}

/** Bits of a place among so many terms, or of {@link LINE_END}. */
function bitsOf(terms: number): number {
  return 32 - Math.clz32(terms);
}
