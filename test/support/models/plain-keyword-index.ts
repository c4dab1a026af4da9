import type { ExpansionRequest, Expansions } from '../../../shared/contract/shard/keyword-expansion';
import type { KeywordPlan } from '../../../shared/contract/shard/keyword-plan';
import type { KeywordStatistics } from '../../../shared/contract/shard/shard-read';
import { type Analyser, defaultAnalyser } from '../../../shared/base/text/analyser';
import type { WordsCondition } from '../../../shared/contract/filter/filter';
import { ChunkedSlotSet } from '../../../node/engine/slots/chunked-slot-set';
import type { SlotScores } from '../../../node/engine/slots/slot-scores';
import type { SlotSet } from '../../../node/engine/slots/slot-set';
import { B, K1 } from '../../../node/engine/keyword/bm25';
import {
  type AnalysedText,
  type KeywordIndex,
  type KeywordSearchOptions,
  type PlannedSearchOptions,
  slotName,
  type SteppedSearchOptions,
} from '../../../node/engine/keyword/keyword-index';
import { DocumentTable } from '../../../node/engine/keyword/document-table';
import type { TermOrigin } from '../../../node/engine/keyword/keyword-save';
import { TermDictionary } from '../../../node/engine/keyword/term-dictionary';
import { WordOrders } from '../../../node/engine/keyword/word-orders';
import type { WeightedText } from '../../../node/engine/keyword/keyword-text';
import { plainExpansions } from './plain-expansions';
import { plainPlanScore } from './plain-keyword-plan';

/**
 * {@link KeywordIndex} directly from the definition of BM25: every query scores every document. Tests compare
 * Bm25KeywordIndex with it; it is too slow for anything else.
 */
export class PlainKeywordIndex implements KeywordIndex {
  readonly analyser: Analyser;
  readonly fields = undefined;
  /** It keeps none. */
  readonly wordOrders = new WordOrders(new DocumentTable(), new TermDictionary());
  private readonly documents = new Map<number, string[]>();
  private readonly analysed = new WeakMap<AnalysedText, string[]>();

  constructor(options: { analyser?: Analyser } = {}) {
    this.analyser = options.analyser ?? defaultAnalyser;
  }

  get origin(): TermOrigin {
    return this.analyser;
  }

  put(slot: number, text: string): void {
    if (this.documents.has(slot)) throw new Error(`keyword index: slot ${slot} is taken`);
    const terms = this.analyser.terms(text);
    if (terms.length > 0) this.documents.set(slot, terms);
  }

  *analyse(given: string | readonly WeightedText[]): Generator<undefined, AnalysedText> {
    const terms: string[] = [];
    for (const { text, weight } of typeof given === 'string' ? [{ text: given, weight: 1 }] : given) {
      for (let i = 0; i < weight; i++) terms.push(...[...this.analyser.parts(text)].flat());
      yield;
    }
    const analysed = { length: terms.length, terms: new Uint32Array(), frequencies: new Uint32Array() };
    this.analysed.set(analysed, terms);
    return analysed;
  }

  putAnalysed(slot: number, text: AnalysedText): void {
    if (this.documents.has(slot)) throw new Error(`keyword index: slot ${slot} is taken`);
    const terms = this.analysed.get(text) as string[];
    if (terms.length > 0) this.documents.set(slot, terms);
  }

  discard(text: AnalysedText): void {
    this.analysed.delete(text);
  }

  remove(slot: number): void {
    this.documents.delete(slot);
  }

  removeEverywhere(slots: SlotSet): void {
    for (const slot of slots.toArray()) this.remove(slot);
  }

  statistics(terms: string[]): KeywordStatistics {
    const all = [...this.documents.values()];
    return {
      documentCount: all.length,
      totalLength: all.reduce((sum, document) => sum + document.length, 0),
      documentFrequencies: terms.map((term) => all.filter((document) => document.includes(term)).length),
    };
  }

  *statisticsInSteps(terms: string[]): Generator<undefined, KeywordStatistics> {
    yield;
    return this.statistics(terms);
  }

  hasWords(slot: number, { query, match }: WordsCondition): boolean {
    const terms = this.documents.get(slot) ?? [];
    const wanted = this.analyser.termsToFind(query);
    if (match === 'any') return wanted.some((term) => terms.includes(term));
    return wanted.length > 0 && wanted.every((term) => terms.includes(term));
  }

  *slotsWithWords(condition: WordsCondition): Generator<undefined, ChunkedSlotSet> {
    yield;
    return ChunkedSlotSet.fromArray([...this.documents.keys()].filter((slot) => this.hasWords(slot, condition)));
  }

  search(terms: string[], statistics: KeywordStatistics, options: KeywordSearchOptions): SlotScores {
    const nameOf = options.nameOf ?? slotName;
    const scored = [...this.documents]
      .filter(
        ([slot, document]) => (options.allowed?.has(slot) ?? true) && terms.some((term) => document.includes(term)),
      )
      .map(([slot, document]) => ({ slot, score: this.score(document, terms, statistics) }))
      .sort((a, b) => b.score - a.score || (nameOf(a.slot) < nameOf(b.slot) ? -1 : 1));
    const kept = scored.slice(0, options.k);
    return { slots: Uint32Array.from(kept, ({ slot }) => slot), scores: Float64Array.from(kept, ({ score }) => score) };
  }

  *searchInSteps(
    terms: string[],
    statistics: KeywordStatistics,
    options: SteppedSearchOptions,
  ): Generator<undefined, SlotScores> {
    yield;
    return this.search(terms, statistics, { ...options, allowed: options.allowed() });
  }

  *searchPlanInSteps(
    terms: string[],
    plan: KeywordPlan,
    statistics: KeywordStatistics,
    { k, allowed: allowedNow, nameOf: given, unitSlots }: PlannedSearchOptions,
  ): Generator<undefined, SlotScores> {
    yield;
    const nameOf = given ?? slotName;
    const allowed = allowedNow();
    const scored = [...this.documents].flatMap(([slot, document]) => {
      const score = plainPlanScore(
        document,
        terms,
        plan,
        statistics,
        (_, place) => unitSlots(place)?.has(slot) ?? true,
      );
      return score === null || allowed?.has(slot) === false ? [] : [{ slot, score }];
    });
    scored.sort((a, b) => b.score - a.score || (nameOf(a.slot) < nameOf(b.slot) ? -1 : 1));
    const kept = scored.slice(0, k);
    return { slots: Uint32Array.from(kept, ({ slot }) => slot), scores: Float64Array.from(kept, ({ score }) => score) };
  }

  *expansions({ term, by, after, limit }: ExpansionRequest): Generator<undefined, Expansions> {
    yield;
    return plainExpansions([...this.documents.values()], { term, by, after, limit });
  }

  dropSortedTerms(): void {
    // It has none.
  }

  *save(): Iterable<Buffer> {
    yield Buffer.from(JSON.stringify([...this.documents]));
  }

  static load(bytes: Buffer): PlainKeywordIndex {
    const index = new PlainKeywordIndex();
    for (const [slot, terms] of JSON.parse(bytes.toString()) as [number, string[]][]) index.documents.set(slot, terms);
    return index;
  }

  get memoryBytes(): number {
    return [...this.documents.values()].reduce((sum, terms) => sum + 8 * terms.length, 0);
  }

  private score(document: string[], terms: string[], statistics: KeywordStatistics): number {
    const average = statistics.totalLength / statistics.documentCount;
    let score = 0;
    terms.forEach((term, i) => {
      const df = statistics.documentFrequencies[i];
      const frequency = document.filter((other) => other === term).length;
      if (frequency === 0) return;
      const idf = Math.log(1 + (statistics.documentCount - df + 0.5) / (df + 0.5));
      score += (idf * frequency * (K1 + 1)) / (frequency + K1 * (1 - B + (B * document.length) / average));
    });
    return score;
  }
}
