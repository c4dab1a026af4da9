import { seededRandom } from './seeded-random.mjs';

const SEED = 20261121;
const VOCABULARY = 300_000;
/**
 * Shift and exponent of Mandelbrot's form of Zipf's law: the most frequent word makes 7 % of the text, as "the" does.
 */
const SHIFT = 1.7;
const EXPONENT = 1.0;
/** Titles and short messages: 4 to 33 words, the short ones more often (10.5 on average). */
const WORDS_MIN = 4;
const WORDS_SPREAD = 30;
/** Ranks of the words that count as common and as rare in queries. */
const COMMON_RANKS = 100;
const RARE_RANKS = [1000, 50_000];

/**
 * Short documents whose words are distributed as those of natural text, and queries over them; the same on every
 * machine.
 */
export class KeywordCorpus {
  constructor() {
    this.random = seededRandom(SEED);
    this.words = Array.from({ length: VOCABULARY }, (_, rank) => wordOf(rank));
    this.cumulated = new Float64Array(VOCABULARY);
    let sum = 0;
    for (let rank = 0; rank < VOCABULARY; rank++) this.cumulated[rank] = sum += 1 / (rank + 1 + SHIFT) ** EXPONENT;
  }

  document() {
    const { random } = this;
    const count = WORDS_MIN + Math.floor(random() * random() * WORDS_SPREAD);
    let text = this.word();
    for (let i = 1; i < count; i++) text += ` ${this.word()}`;
    return text;
  }

  /** A common word, a rare one, and up to two more as text has them: 2 to 4 distinct words. */
  query() {
    const [from, to] = RARE_RANKS;
    const wanted = 2 + Math.floor(this.random() * 3);
    const words = new Set([
      this.words[Math.floor(this.random() * COMMON_RANKS)],
      this.words[from + Math.floor(this.random() * (to - from))],
    ]);
    while (words.size < wanted) words.add(this.word());
    return [...words];
  }

  word() {
    const { cumulated } = this;
    const at = this.random() * cumulated[VOCABULARY - 1];
    let low = 0;
    let high = VOCABULARY - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (cumulated[middle] < at) low = middle + 1;
      else high = middle;
    }
    return this.words[low];
  }
}

const CONSONANTS = 'bcdfghjklmnprstvwz';
const VOWELS = 'aeiou';

/** A word of its own for each rank, longer for rarer ones, as in languages. */
function wordOf(rank) {
  let word = '';
  for (let rest = rank + 1; rest > 0; rest = Math.floor(rest / 90))
    word += CONSONANTS[(rest % 90) % 18] + VOWELS[Math.floor((rest % 90) / 18)];
  return word;
}
