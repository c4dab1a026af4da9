import type { Analyser } from '../../shared/base/text/analyser';
import { hashText } from './feature-hash';

/**
 * Frequent words with a grammatical function and little meaning, in the form in which the analyser gives them. Two
 * texts that share them are not therefore about the same topic. English, with the most frequent ones of German, French
 * and Spanish. They are part of the builtin model's definition: a change here changes its vectors.
 */
const FUNCTION_WORDS: ReadonlySet<string> = new Set(
  `a about after again all also am an and any are as at be because been before being between both but by can could did do
  does doing dont down during each few for from further had has have having he her here hers him his how i if in into is
  isnt it its itself just may me might more most must my no nor not now of off on once only or other our ours out over own
  same shall she should so some such than that the their theirs them then there these they this those through to too under
  until up upon us very was we were what when where which while who whom why will with would you your yours
  der die das den dem des ein eine einen einem einer und oder aber ist sind war nicht mit von zu zum zur auf fur im als auch
  an es ich sie er wir ihr wie dass durch bei nach aus wird werden hat haben
  le la les un une des du de et ou est sont dans pour par sur pas ne que qui ce cette avec il elle nous vous ils au aux en se
  el los las una unos unas y o es son del al con por para como mas su sus lo que en se`
    .split(/\s+/)
    .filter((word) => word !== ''),
);

/** Takes one feature of a text: the 32-bit hash that identifies it, and its weight, a positive integer. */
export type FeatureVisitor = (hash: number, weight: number) => void;

/** One seed per kind of feature, so that different kinds do not share hashes. */
const WORD_SEED = 0x51ed270b;
const PAIR_SEED = 0x2f0b4c47;
const PART_SEED = 0x6a09e667;
const CHARACTER_SEED = 0x3c6ef372;

/** Weight of a word of four or more letters that occurs once; all other weights are relative to it. */
const WORD_WEIGHT = 256;
/** Short words carry little meaning in most languages. Weights by length in UTF-16 code units. */
const SHORT_WORD_WEIGHTS = [0, 64, 112, 192];
const FUNCTION_WORD_WEIGHT = 40;
/** All parts of a word together weigh 0.8 of the word, as vector lengths: the squares of the weights add up. */
const PARTS_SHARE = 0.8;
const PAIR_SHARE = 0.5;
const PART_LENGTH = 3;

/**
 * The features by which the builtin embedder compares texts: words, pairs of neighbouring words, and the overlapping
 * three-letter parts of each word with its ends marked, so that inflections and misspellings stay near. A text without
 * terms has its characters as features; a blank one has none. Everything is integer arithmetic or exactly rounded, and
 * therefore the same on every machine.
 */
export function visitFeatures(text: string, analyser: Analyser, visit: FeatureVisitor): void {
  const terms = analyser.terms(text);
  if (terms.length === 0) {
    visitCharacters(text, visit);
    return;
  }
  for (const [term, count] of counted(terms)) {
    const weight = Math.round((weightOfWord(term) * repetitionWeight(count)) / WORD_WEIGHT);
    visit(hashText(term, 0, term.length, WORD_SEED), weight);
    visitParts(term, weight, visit);
  }
  for (const [pair, count] of counted(pairsOf(terms))) {
    visit(hashText(pair, 0, pair.length, PAIR_SEED), Math.round(PAIR_SHARE * repetitionWeight(count)));
  }
}

/**
 * `WORD_WEIGHT` · (1 + about ln count), by doublings with a straight line between them: Math.log differs between
 * engines.
 */
export function repetitionWeight(count: number): number {
  const doublings = 31 - Math.clz32(count);
  const between = count / 2 ** doublings - 1;
  return Math.round(WORD_WEIGHT * (1 + 0.6931 * (doublings + between)));
}

function weightOfWord(term: string): number {
  if (FUNCTION_WORDS.has(term)) return FUNCTION_WORD_WEIGHT;
  // In a script without spaces, a character counts like a syllable and a pair of characters like a word.
  if (term.length < SHORT_WORD_WEIGHTS.length && term.charCodeAt(0) >= 0x0e00)
    return term.length === 1 ? 128 : WORD_WEIGHT;
  return SHORT_WORD_WEIGHTS[term.length] ?? WORD_WEIGHT;
}

function visitParts(term: string, weight: number, visit: FeatureVisitor): void {
  if (term.length < PART_LENGTH) return;
  const marked = `^${term}$`;
  const count = marked.length - PART_LENGTH + 1;
  const partWeight = Math.round((PARTS_SHARE * weight) / Math.sqrt(count));
  if (partWeight === 0) return;
  for (let i = 0; i < count; i++) visit(hashText(marked, i, i + PART_LENGTH, PART_SEED), partWeight);
}

/** Pairs of neighbours, except where both are function words. */
function pairsOf(terms: string[]): string[] {
  const pairs: string[] = [];
  for (let i = 1; i < terms.length; i++) {
    if (!FUNCTION_WORDS.has(terms[i - 1]) && !FUNCTION_WORDS.has(terms[i])) pairs.push(`${terms[i - 1]} ${terms[i]}`);
  }
  return pairs;
}

function visitCharacters(text: string, visit: FeatureVisitor): void {
  for (const [character, count] of counted(text.replace(BLANK, ''))) {
    visit(hashText(character, 0, character.length, CHARACTER_SEED), repetitionWeight(count));
  }
}

const BLANK = /[\s\p{Cc}\ufeff]/gu;

function counted(features: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const feature of features) counts.set(feature, (counts.get(feature) ?? 0) + 1);
  return counts;
}
