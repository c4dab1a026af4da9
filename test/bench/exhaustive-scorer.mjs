const K1 = 1.2;
const B = 0.75;
/** Of a posting's 32 bits, those that hold the frequency. */
const FREQUENCY_BITS = 6;

/**
 * BM25 as the textbooks compute it: every posting of every term is added up in an array with a place for each document,
 * then the best are picked out. What the index is compared with, in answers and in time.
 */
export class ExhaustiveScorer {
  postings = new Map();
  /** An array while it is filled, then a Uint32Array. @type {any} */
  lengths = [];
  totalLength = 0;

  /** `text` is words with single spaces between them. */
  add(text) {
    const document = this.lengths.length;
    const words = text.split(' ');
    const frequencies = new Map();
    for (const word of words) frequencies.set(word, (frequencies.get(word) ?? 0) + 1);
    for (const [word, frequency] of frequencies) {
      let list = this.postings.get(word);
      if (list === undefined) this.postings.set(word, (list = { entries: new Float64Array(4), count: 0 }));
      if (list.count === list.entries.length) {
        const grown = new Float64Array(list.count * 2);
        grown.set(list.entries);
        list.entries = grown;
      }
      list.entries[list.count++] = document * 2 ** FREQUENCY_BITS + frequency;
    }
    this.lengths.push(words.length);
    this.totalLength += words.length;
  }

  /** To be called once, after the last document. */
  seal() {
    this.lengths = Uint32Array.from(this.lengths);
    this.scores = new Float64Array(this.lengths.length);
    for (const list of this.postings.values()) {
      const entries = list.entries.subarray(0, list.count);
      list.documents = Uint32Array.from(entries, (entry) => Math.floor(entry / 2 ** FREQUENCY_BITS));
      list.frequencies = Uint8Array.from(entries, (entry) => entry % 2 ** FREQUENCY_BITS);
      list.entries = null;
    }
  }

  /** The best k scores, highest first. */
  search(words, k) {
    const { scores, lengths } = this;
    scores.fill(0);
    const slope = (K1 * B * lengths.length) / this.totalLength;
    for (const word of words) {
      const list = this.postings.get(word);
      if (list === undefined) continue;
      const { documents, frequencies } = list;
      const weight = Math.log(1 + (lengths.length - documents.length + 0.5) / (documents.length + 0.5)) * (K1 + 1);
      for (let i = 0; i < documents.length; i++) {
        scores[documents[i]] +=
          (weight * frequencies[i]) / (frequencies[i] + K1 * (1 - B) + slope * lengths[documents[i]]);
      }
    }
    const best = [];
    for (let document = 0; document < scores.length; document++) {
      const score = scores[document];
      if (score === 0 || (best.length === k && score <= best[k - 1])) continue;
      let at = best.length === k ? k - 1 : best.length;
      while (at > 0 && best[at - 1] < score) {
        best[at] = best[at - 1];
        at--;
      }
      best[at] = score;
    }
    return best;
  }
}
