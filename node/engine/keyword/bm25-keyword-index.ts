import type { ExpansionRequest, Expansions } from '../../../shared/contract/shard/keyword-expansion';
import { haveAnalysers, type KeywordFields } from '../../../shared/contract/shard/keyword-fields';
import type { KeywordPlan } from '../../../shared/contract/shard/keyword-plan';
import type { KeywordStatistics } from '../../../shared/contract/shard/shard-read';
import { type Analyser, defaultAnalyser } from '../../../shared/base/text/analyser';
import type { Variants } from '../../../shared/base/text/word-variants';
import type { WordsCondition } from '../../../shared/contract/filter/filter';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import type { SlotSet } from '../slots/slot-set';
import { resultOf } from '../../../shared/base/time/work-slices';
import type { SlotScores } from '../slots/slot-scores';
import { lengthNorm, termWeight } from './bm25';
import { DocumentTable, NO_DOCUMENT } from './document-table';
import { FieldPostings, type FieldText } from './field-postings';
import { grownUint32 } from './growable';
import { type KeywordTables, readKeywordSave, type TermOrigin, writeKeywordSave } from './keyword-save';
import {
  type AnalysedText,
  type KeywordIndex,
  type KeywordSearchOptions,
  type PlannedSearchOptions,
  slotName,
  type SteppedSearchOptions,
} from './keyword-index';
import { analyserOfField, type WeightedText } from './keyword-text';
import { type SearchedPart, searchPostings } from './keyword-search';
import { searchPlan } from './planned-search';
import { PostingLists } from './posting-lists';
import { SortedTerms } from './sorted-terms';
import { TermDictionary } from './term-dictionary';
import {
  type FoundTerms,
  hasTerms,
  hasTermThat,
  type IndexTerms,
  slotsWithTerms,
  type TermMatch,
  type TermSource,
} from './term-slots';
import { mustBeOfFields, WeightedViews } from './weighted-views';
import { type SoughtVariants, termsOfWords, variantsOfWords } from './word-conditions';
import { WordOrders } from './word-orders';

/** Dead documents that are always tolerated: renumbering fewer is not worth its fixed cost. */
const DEAD_DOCUMENTS_MIN = 1024;
/**
 * The share of dead documents that starts a renumbering. Up to this share, they cost searches and memory at most a
 * quarter more.
 */
const DEAD_SHARE_MAX = 0.2;
/** Work per put or remove during a renumbering: some microseconds, and it ends before the next one is due. */
const POSTINGS_PER_STEP = 512;
const DOCUMENTS_PER_STEP = 16;
/** Terms that a word stands for, which are looked at in one step: a millisecond or two. */
const VARIANTS_PER_STEP = 1 << 13;

interface KeywordIndexOptions {
  analyser?: Analyser;
  fields?: KeywordFields | undefined;
}

const NO_TERMS: AnalysedText = { length: 0, terms: new Uint32Array(0), frequencies: new Uint32Array(0) };

/**
 * {@link KeywordIndex} as postings in compact arrays. A remove takes effect at once on all statistics, because a
 * document knows its terms. Its postings are dropped later, when many documents are dead, in small steps during puts
 * and removes. Scores are doubles that depend only on the document, the terms and the statistics.
 */
export class Bm25KeywordIndex implements KeywordIndex {
  readonly analyser: Analyser;
  readonly fields: KeywordFields | undefined;
  private readonly documents = new DocumentTable();
  private readonly dictionary = new TermDictionary();
  private readonly lists = new PostingLists();
  private readonly sortedTerms = new SortedTerms(this.dictionary);
  readonly wordOrders = new WordOrders(this.documents, this.dictionary);
  /** By field: what cuts it, where one has an analyser of its own. */
  private readonly analysers: readonly Analyser[] | undefined;
  /** null: it is not given fields. */
  private readonly byField: FieldPostings | null;
  private readonly weighted: WeightedViews | null;
  /** By term: its frequency in the text being put; all 0 between puts. */
  private frequencies = new Uint32Array(64);
  private distinct = new Uint32Array(64);
  /** See SearchedPostings. */
  private revision = 0;
  private numbering = 0;
  private readonly terms: IndexTerms = {
    documents: this.documents,
    dictionary: this.dictionary,
    lists: this.lists,
    numbering: () => this.numbering,
    revision: () => this.revision,
  };
  /** The running save: document numbers must not change until it ends. A new save replaces it. */
  private runningSave: symbol | null = null;

  constructor(options: KeywordIndexOptions = {}) {
    this.analyser = options.analyser ?? defaultAnalyser;
    this.fields = options.fields;
    this.analysers = haveAnalysers(this.fields)
      ? this.fields!.map((field) => analyserOfField(field, this.analyser))
      : undefined;
    this.byField = this.fields === undefined ? null : new FieldPostings(this.fields);
    const { documents, dictionary, lists, byField: fields } = this;
    this.weighted = fields && new WeightedViews({ documents, dictionary, lists, fields }, this.terms);
  }

  /**
   * The index that `save` wrote. Errors: QuiverError `storage_failed` on bytes that are not a whole, consistent save of
   * this version and of the same analyser version and fields.
   */
  static load(bytes: Buffer, options: KeywordIndexOptions = {}): Bm25KeywordIndex {
    return resultOf(Bm25KeywordIndex.loadInSteps(bytes, options));
  }

  /** Like `load`, in steps. */
  static *loadInSteps(bytes: Buffer, options: KeywordIndexOptions = {}): Generator<undefined, Bm25KeywordIndex> {
    const index = new Bm25KeywordIndex(options);
    yield* readKeywordSave(bytes, index.origin, index.tables);
    return index;
  }

  put(slot: number, text: string): void {
    if (this.documents.documentOf(slot) !== NO_DOCUMENT) throw new Error(`keyword index: slot ${slot} is taken`);
    const terms = this.analyser.terms(text);
    if (terms.length === 0) return;
    const count = this.countTerms(terms);
    const document = this.documents.add(slot, terms.length, this.distinct, count);
    for (let i = 0; i < count; i++) {
      const term = this.distinct[i];
      this.lists.append(term, document, this.frequencies[term], terms.length);
      this.dictionary.documentFrequencies[term]++;
      this.frequencies[term] = 0;
    }
    this.maintain();
  }

  *analyse(given: string | readonly WeightedText[]): Generator<undefined, AnalysedText> {
    if (given === '') return NO_TERMS;
    const places = new Map<number, number>();
    let terms = new Uint32Array(64);
    let frequencies = new Uint32Array(64);
    let length = 0;
    const counters = typeof given === 'string' ? undefined : this.byField?.counters();
    let field = 0;
    for (const { text, weight } of typeof given === 'string' ? [{ text: given, weight: 1 }] : given) {
      const counter = counters?.[this.byField!.kept.indexOf(field)];
      const analyser = this.analysers?.[field] ?? this.analyser;
      field += 1;
      for (const part of analyser.parts(text)) {
        length += part.length * weight;
        for (const text of part) {
          const term = this.dictionary.intern(text);
          const known = places.get(term);
          if (known !== undefined) {
            frequencies[known] += weight;
            continue;
          }
          this.dictionary.pin(term);
          const place = places.size;
          places.set(term, place);
          terms = grownUint32(terms, place + 1);
          frequencies = grownUint32(frequencies, place + 1);
          terms[place] = term;
          frequencies[place] = weight;
        }
        if (counter !== undefined) for (const text of part) countTerm(counter, this.dictionary.find(text)!);
        this.lists.reserve(this.dictionary.count);
        yield;
      }
    }
    return {
      length,
      terms: terms.slice(0, places.size),
      frequencies: frequencies.slice(0, places.size),
      ...(counters !== undefined && counters.length > 0 && { fields: counters.map(fieldText) }),
    };
  }

  putAnalysed(slot: number, { length, terms, frequencies, fields }: AnalysedText): void {
    if (this.documents.documentOf(slot) !== NO_DOCUMENT) throw new Error(`keyword index: slot ${slot} is taken`);
    if (length === 0) return;
    const document = this.documents.add(slot, length, terms, terms.length);
    for (let i = 0; i < terms.length; i++) {
      const term = terms[i];
      this.lists.append(term, document, frequencies[i], length);
      this.dictionary.documentFrequencies[term]++;
      this.dictionary.unpin(term);
    }
    if (fields !== undefined) this.byField?.add(document, fields);
    this.maintain();
  }

  discard({ terms }: AnalysedText): void {
    for (const term of terms) {
      this.dictionary.unpin(term);
      if (this.dictionary.documentFrequencies[term] === 0) this.dictionary.release(term);
    }
  }

  remove(slot: number): void {
    const document = this.documents.documentOf(slot);
    if (document === NO_DOCUMENT) return;
    const frequencies = this.dictionary.documentFrequencies;
    this.documents.forEachTerm(document, (term) => {
      this.weighted?.forEach((view) => view.forgetPosting(term, document));
      if (--frequencies[term] > 0) return;
      this.lists.clear(term);
      this.byField?.clear(term);
      this.weighted?.forEach((view) => view.forgetTerm(term));
      this.dictionary.release(term);
    });
    this.lists.forgetDocument(document);
    this.byField?.remove(document);
    this.documents.remove(document);
    this.weighted?.forEach((view) => view.forgetDocument(document));
    this.maintain();
  }

  removeEverywhere(slots: SlotSet): void {
    for (const slot of slots.toArray()) this.remove(slot);
  }

  statistics(terms: string[], fieldWeights?: readonly number[]): KeywordStatistics {
    return resultOf(this.statisticsInSteps(terms, fieldWeights));
  }

  *statisticsInSteps(terms: string[], asked?: readonly number[]): Generator<undefined, KeywordStatistics> {
    if (asked !== undefined) mustBeOfFields(asked, this.byField?.weights);
    // Where all fields count, documents and their terms are those of the index.
    if (asked?.includes(0) !== true) return statisticsOf(this.terms, terms, this.totalLength(asked));
    const totalLength = (): number => this.totalLength(asked);
    return yield* this.weighted!.search(asked, terms, (source) => countedIn(source, terms, totalLength));
  }

  private totalLength(asked: readonly number[] | undefined): number {
    const { totalLength } = this.documents;
    return asked === undefined ? totalLength : this.byField!.totalOf(totalLength, asked);
  }

  private analyserOf(condition: WordsCondition): Analyser {
    return analyserOfField(condition, this.analyser);
  }

  hasWords(slot: number, condition: WordsCondition): boolean {
    if (condition.stands !== undefined) {
      const sought = variantsOfWords(condition, this.analyserOf(condition));
      if (sought === null || !hasTermThat(this.terms, slot, sought.fits)) return false;
      return sought.others.length === 0 || hasTerms(this.terms, slot, sought.others, 'all');
    }
    return hasTerms(this.terms, slot, termsOfWords(condition, this.analyserOf(condition)), matchOf(condition));
  }

  slotsWithWords(condition: WordsCondition): Generator<undefined, ChunkedSlotSet> {
    if (condition.stands !== undefined)
      return this.slotsWithVariants(variantsOfWords(condition, this.analyserOf(condition)));
    return slotsWithTerms(this.terms, termsOfWords(condition, this.analyserOf(condition)), matchOf(condition));
  }

  private *slotsWithVariants(sought: SoughtVariants | null): Generator<undefined, ChunkedSlotSet> {
    if (sought === null) return new ChunkedSlotSet();
    const { others, term, variants, fits } = sought;
    const wanted = new Set<string>();
    let looked = 0;
    for (const found of [[term], ...(yield* this.variantTerms({ term, ...variants }))])
      for (const text of found) {
        if (fits(text)) wanted.add(text);
        if (++looked % VARIANTS_PER_STEP === 0) yield;
      }
    const slots = yield* slotsWithTerms(this.terms, [...wanted], 'any');
    return others.length === 0 ? slots : slots.and(yield* slotsWithTerms(this.terms, others, 'all'));
  }

  /** All terms that begin so, or are near, in lists. */
  private *variantTerms({ term, prefixes, edits }: Variants & { term: string }): Generator<undefined, string[][]> {
    const found: string[][] = [];
    const page = { after: '', limit: Infinity };
    for (const prefix of prefixes ?? [])
      found.push((yield* this.sortedTerms.find({ term: prefix, by: 'prefix', ...page })).terms);
    if (prefixes === undefined && edits > 0)
      found.push((yield* this.sortedTerms.find({ term, by: edits as 1 | 2, ...page })).terms);
    return found;
  }

  search(terms: string[], statistics: KeywordStatistics, options: KeywordSearchOptions): SlotScores {
    return resultOf(this.searchInSteps(terms, statistics, { ...options, allowed: () => options.allowed }));
  }

  searchInSteps(
    texts: string[],
    statistics: KeywordStatistics,
    options: SteppedSearchOptions,
  ): Generator<undefined, SlotScores> {
    return this.weighed(options, texts, (terms) => this.searchTerms(terms, texts, statistics, options));
  }

  /** In what has the weights that are asked for. Errors: invalid_parameter for those of other fields. */
  private weighed(
    { fieldWeights }: Pick<SteppedSearchOptions, 'fieldWeights'>,
    texts: readonly string[],
    run: (terms: TermSource) => Generator<undefined, SlotScores>,
  ): Generator<undefined, SlotScores> {
    if (fieldWeights === undefined) return run(this.terms);
    mustBeOfFields(fieldWeights, this.byField?.weights);
    return this.weighted!.search(fieldWeights, texts, run);
  }

  private *searchTerms(
    indexed: TermSource,
    terms: string[],
    statistics: KeywordStatistics,
    { k, allowed, nameOf = slotName }: SteppedSearchOptions,
  ): Generator<undefined, SlotScores> {
    const { documents } = this;
    const { lists, revision, numbering } = indexed;
    const norm = lengthNorm(statistics);
    const parts = this.partsOf(indexed.dictionary, terms, statistics);
    const source = { documents: indexed.documents, lists, norm, parts, revision, numbering };
    const found = yield* searchPostings(source, {
      k,
      allowed,
      nameOf: nameOf === null ? null : (document) => nameOf(documents.slots[document]),
    });
    return { slots: found.documents.map((document) => documents.slots[document]), scores: found.scores };
  }

  searchPlanInSteps(
    terms: string[],
    plan: KeywordPlan,
    statistics: KeywordStatistics,
    options: PlannedSearchOptions,
  ): Generator<undefined, SlotScores> {
    const allTermsOf = ({ term, by }: Pick<ExpansionRequest, 'term' | 'by'>): Generator<undefined, Expansions> =>
      this.sortedTerms.find({ term, by, after: '', limit: Infinity });
    return this.weighed(options, terms, (source) =>
      searchPlan(source, { terms, plan, statistics, allTermsOf }, options),
    );
  }

  /**
   * The terms that have documents at each call, in the same order in every shard: rarest first, then as in the request.
   */
  private partsOf(dictionary: FoundTerms, texts: string[], statistics: KeywordStatistics): () => SearchedPart[] {
    const weighted = texts.map((text, order) => ({
      text,
      weight: termWeight(statistics, order),
      order,
    }));
    weighted.sort((a, b) => b.weight - a.weight || a.order - b.order);
    return () => {
      const found: SearchedPart[] = [];
      weighted.forEach(({ text, weight }, rank) => {
        const term = dictionary.find(text);
        // A term of a text that is not put yet has a number but no document.
        if (term !== undefined && dictionary.documentFrequencies[term] > 0)
          found.push({ terms: [{ term, factor: 1 }], weight, rank });
      });
      return found;
    };
  }

  expansions(request: ExpansionRequest): Generator<undefined, Expansions> {
    return this.sortedTerms.find(request);
  }

  dropSortedTerms(): void {
    this.sortedTerms.drop();
    this.weighted?.drop();
  }

  *save(): Iterable<Buffer> {
    const mine = Symbol('save');
    this.runningSave = mine;
    try {
      for (const chunk of writeKeywordSave(this.origin, this.tables)) {
        yield chunk;
        if (this.runningSave !== mine) throw new Error('keyword index: a later save has begun');
      }
    } finally {
      if (this.runningSave === mine) this.runningSave = null;
    }
  }

  get memoryBytes(): number {
    const scratch = this.frequencies.byteLength + this.distinct.byteLength;
    return (
      this.documents.memoryBytes +
      this.dictionary.memoryBytes +
      this.sortedTerms.memoryBytes +
      this.lists.memoryBytes +
      (this.byField?.memoryBytes ?? 0) +
      (this.weighted?.memoryBytes ?? 0) +
      scratch
    );
  }

  get origin(): TermOrigin {
    const { name, version } = this.analyser;
    if (this.fields === undefined) return { name, version };
    const by = this.analysers?.map((analyser) => `${analyser.name} ${analyser.version}`).join(', ');
    const of = `${name} of ${JSON.stringify(this.fields)}`;
    return { name: by === undefined ? of : `${of} by ${by}`, version };
  }

  private get tables(): KeywordTables {
    return { documents: this.documents, dictionary: this.dictionary, lists: this.lists, fields: this.byField };
  }

  /** Fills `distinct` and `frequencies` with the terms of a text; returns the number of distinct ones. */
  private countTerms(terms: string[]): number {
    this.distinct = grownUint32(this.distinct, terms.length);
    let count = 0;
    for (const text of terms) {
      const term = this.dictionary.intern(text);
      if (term >= this.frequencies.length) this.frequencies = grownUint32(this.frequencies, term + 1);
      if (this.frequencies[term]++ === 0) this.distinct[count++] = term;
    }
    this.lists.reserve(this.dictionary.count);
    return count;
  }

  /** After every put and remove. */
  private maintain(): void {
    this.revision += 1;
    this.weighted?.forEach((view) => view.follow());
    if (this.lists.isRewriting || this.documents.isSliding || this.byField?.isRewriting === true) {
      this.lists.rewriteSome(POSTINGS_PER_STEP);
      this.byField?.rewriteSome(POSTINGS_PER_STEP);
      this.documents.slideLists(DOCUMENTS_PER_STEP);
      return;
    }
    const dead = this.documents.count - this.documents.liveCount;
    if (this.runningSave !== null || dead < DEAD_DOCUMENTS_MIN || dead < this.documents.count * DEAD_SHARE_MAX) return;
    this.numbering += 1;
    const renumbered = this.documents.renumber();
    this.lists.beginRewrite(renumbered, this.dictionary.count);
    this.byField?.beginRewrite(renumbered);
    this.weighted?.forEach((view) => view.reset());
  }
}

function statisticsOf({ documents, dictionary }: TermSource, terms: string[], totalLength: number): KeywordStatistics {
  const documentFrequencies = terms.map((text) => {
    const term = dictionary.find(text);
    return term === undefined ? 0 : dictionary.documentFrequencies[term];
  });
  return { documentCount: documents.liveCount, totalLength, documentFrequencies };
}

/** What comes in the break is taken over by the count. */
function* countedIn(
  source: TermSource,
  terms: string[],
  totalLength: () => number,
): Generator<undefined, KeywordStatistics> {
  yield;
  return statisticsOf(source, terms, totalLength());
}

function countTerm(counter: Map<number, number>, term: number): void {
  counter.set(term, (counter.get(term) ?? 0) + 1);
}

function fieldText(frequencies: Map<number, number>): FieldText {
  let length = 0;
  for (const frequency of frequencies.values()) length += frequency;
  return { length, frequencies };
}

function matchOf({ match }: WordsCondition): TermMatch {
  return match === 'any' ? 'any' : 'all';
}
