import { BlockMaxima } from './block-maxima';
import { NO_DOCUMENT } from './document-table';
import { grownUint32, grownUint8 } from './growable';
import { PostingStorage, type Region } from './posting-storage';
import { LONG_FREQUENCY, type PostingView } from './posting-view';

/**
 * The postings of every term: documents in ascending order, with the term's frequency in each. Postings of dead
 * documents stay until the next renumbering, which rewrites each list when it is next used, or in small steps.
 */
export class PostingLists {
  /** Score bounds by block, for long lists that queries use. */
  readonly maxima = new BlockMaxima();
  private readonly storage = new PostingStorage();
  private slabs = new Uint32Array(64);
  private offsets = new Uint32Array(64);
  private lengths = new Uint32Array(64);
  private capacities = new Uint32Array(64);
  /** By term: the highest frequency (capped) and the least document length, for upper bounds of scores. */
  private frequencyMaxima = new Uint8Array(64);
  private lengthMinima = new Uint32Array(64);
  /** Frequencies of {@link LONG_FREQUENCY} and more: document → term → frequency. */
  private longFrequencies = new Map<number, Map<number, number>>();
  /** The renumbering that lists marked stale have not followed yet. */
  private rewrite: { renumbered: Uint32Array; stale: Uint8Array; next: number } | null = null;

  /** Makes room for term numbers below `termCount`. */
  reserve(termCount: number): void {
    this.slabs = grownUint32(this.slabs, termCount);
    this.offsets = grownUint32(this.offsets, termCount);
    this.lengths = grownUint32(this.lengths, termCount);
    this.capacities = grownUint32(this.capacities, termCount);
    this.frequencyMaxima = grownUint8(this.frequencyMaxima, termCount);
    this.lengthMinima = grownUint32(this.lengthMinima, termCount);
  }

  /** Appends a posting; `document` is higher than every one in the list, `documentLength` its length in terms. */
  append(term: number, document: number, frequency: number, documentLength: number): void {
    this.bringUpToDate(term);
    const length = this.lengths[term];
    if (length === this.capacities[term])
      this.moveTo(term, length <= 2048 ? Math.max(1, length * 2) : Math.ceil(length * 1.5));
    const at = this.offsets[term] + length;
    this.storage.documents[this.slabs[term]][at] = document;
    this.storage.frequencies[this.slabs[term]][at] = Math.min(frequency, LONG_FREQUENCY);
    this.lengths[term] = length + 1;
    if (frequency >= LONG_FREQUENCY) this.keepLongFrequency(term, document, frequency);
    this.widenBounds(term, frequency, documentLength);
  }

  /**
   * Makes an empty list of `length` postings for the caller to fill; the caller also calls {@link widenBounds} and does
   * what else an append does.
   */
  allocate(term: number, length: number): PostingView {
    this.moveTo(term, length);
    this.lengths[term] = length;
    return this.view(term);
  }

  /** The list as it is; the view is valid until the next change of the index. */
  view(term: number): PostingView {
    this.bringUpToDate(term);
    const slab = this.slabs[term];
    const start = this.offsets[term];
    return {
      documents: this.storage.documents[slab],
      frequencies: this.storage.frequencies[slab],
      start,
      end: start + this.lengths[term],
    };
  }

  length(term: number): number {
    return this.lengths[term];
  }

  /** The true frequency behind a stored {@link LONG_FREQUENCY}. */
  longFrequency(term: number, document: number): number {
    return this.longFrequencies.get(document)?.get(term) ?? LONG_FREQUENCY;
  }

  /** Highest frequency in the list (Infinity if it is a long one) and least document length; never too tight. */
  bounds(term: number): { frequencyMax: number; lengthMin: number } {
    const frequency = this.frequencyMaxima[term];
    return { frequencyMax: frequency === LONG_FREQUENCY ? Infinity : frequency, lengthMin: this.lengthMinima[term] };
  }

  /** Stores a frequency of {@link LONG_FREQUENCY} or more, for which the list has only that mark. */
  keepLongFrequency(term: number, document: number, frequency: number): void {
    let frequencies = this.longFrequencies.get(document);
    if (frequencies === undefined) this.longFrequencies.set(document, (frequencies = new Map()));
    frequencies.set(term, frequency);
  }

  /** Includes a frequency and a document length in the term's {@link bounds}. */
  widenBounds(term: number, frequency: number, documentLength: number): void {
    if (frequency > this.frequencyMaxima[term]) this.frequencyMaxima[term] = Math.min(frequency, LONG_FREQUENCY);
    const least = this.lengthMinima[term];
    if (least === 0 || documentLength < least) this.lengthMinima[term] = documentLength;
  }

  /** Drops a term's whole list; the number may be used for another term. */
  clear(term: number): void {
    this.maxima.forget(term);
    if (this.rewrite !== null && term < this.rewrite.stale.length) this.rewrite.stale[term] = 0;
    if (this.capacities[term] > 0) this.storage.free(this.region(term));
    this.capacities[term] = 0;
    this.lengths[term] = 0;
    this.frequencyMaxima[term] = 0;
    this.lengthMinima[term] = 0;
  }

  forgetDocument(document: number): void {
    this.longFrequencies.delete(document);
  }

  /**
   * Starts to use new document numbers; lists follow when used or by {@link rewriteSome}. No other rewrite may be under
   * way.
   */
  beginRewrite(renumbered: Uint32Array, termCount: number): void {
    this.rewrite = { renumbered, stale: new Uint8Array(termCount).fill(1), next: 0 };
    const kept = new Map<number, Map<number, number>>();
    for (const [document, frequencies] of this.longFrequencies) {
      if (renumbered[document] !== NO_DOCUMENT) kept.set(renumbered[document], frequencies);
    }
    this.longFrequencies = kept;
  }

  get isRewriting(): boolean {
    return this.rewrite !== null;
  }

  /** Rewrites lists until about `postings` entries have been visited. */
  rewriteSome(postings: number): void {
    const rewrite = this.rewrite;
    if (rewrite === null) return;
    let budget = postings;
    while (budget > 0 && rewrite.next < rewrite.stale.length) {
      const term = rewrite.next++;
      budget -= 1 + (rewrite.stale[term] === 1 ? this.lengths[term] : 0);
      this.bringUpToDate(term);
    }
    if (rewrite.next === rewrite.stale.length) this.rewrite = null;
  }

  get memoryBytes(): number {
    const pending = this.rewrite === null ? 0 : this.rewrite.renumbered.byteLength + this.rewrite.stale.byteLength;
    return this.storage.memoryBytes + this.maxima.memoryBytes + this.slabs.length * 21 + pending;
  }

  /** Applies a renumbering in place: numbers only fall, so no entry is overwritten before it is read. */
  private bringUpToDate(term: number): void {
    const rewrite = this.rewrite;
    if (rewrite === null || term >= rewrite.stale.length || rewrite.stale[term] === 0) return;
    rewrite.stale[term] = 0;
    this.maxima.forget(term);
    const documents = this.storage.documents[this.slabs[term]];
    const frequencies = this.storage.frequencies[this.slabs[term]];
    const start = this.offsets[term];
    const end = start + this.lengths[term];
    let to = start;
    for (let from = start; from < end; from++) {
      const document = rewrite.renumbered[documents[from]];
      if (document === NO_DOCUMENT) continue;
      documents[to] = document;
      frequencies[to++] = frequencies[from];
    }
    this.lengths[term] = to - start;
    if (this.lengths[term] * 4 < this.capacities[term]) this.moveTo(term, this.lengths[term]);
  }

  private moveTo(term: number, capacity: number): void {
    const old = this.region(term);
    const length = this.lengths[term];
    const region = capacity === 0 ? { slab: 0, offset: 0, capacity: 0 } : this.storage.allocate(capacity);
    if (length > 0) {
      const end = old.offset + length;
      this.storage.documents[region.slab].set(
        this.storage.documents[old.slab].subarray(old.offset, end),
        region.offset,
      );
      this.storage.frequencies[region.slab].set(
        this.storage.frequencies[old.slab].subarray(old.offset, end),
        region.offset,
      );
    }
    if (old.capacity > 0) this.storage.free(old);
    this.slabs[term] = region.slab;
    this.offsets[term] = region.offset;
    this.capacities[term] = region.capacity;
  }

  private region(term: number): Region {
    return { slab: this.slabs[term], offset: this.offsets[term], capacity: this.capacities[term] };
  }
}
