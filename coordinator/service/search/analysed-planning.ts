import { QUERY_TERMS_MAX, queryTerms, type QueryWord } from '../../../shared/base/text/analyser';
import { editsOf, type Variants, variantsOf, variedWords } from '../../../shared/base/text/word-variants';
import type { Filter } from '../../../shared/contract/filter/filter';
import type { KeywordMeaning, KeywordUnit } from '../../../shared/contract/shard/keyword-plan';
import { conditionOf, type KeywordClause, type KeywordQuery } from '../keyword-query';
import {
  groupsOfPlaces,
  isUnspacedTerm,
  type PlacedGroup,
  type QueryAnalyser,
  type QueryAnalysers,
  type CutSpan,
} from '../synonyms/query-analysers';
import type { FoundRule } from '../synonyms/synonyms';
import {
  type AskedVariants,
  FILLER_FACTOR,
  groupsOfField,
  isOfBag,
  type KeywordDraft,
  leastOf,
  type TermVariants,
} from './keyword-planning';
import { checkShare, FILLERS_MAX } from './query-words';

/** What one analyser has at a place: a word, or words with a rule. */
interface Item extends CutSpan {
  /** With repetitions. */
  words: readonly Word[];
  rule?: FoundRule;
}

interface Word extends CutSpan {
  /** With their mark. */
  terms: readonly string[];
}

/** A text as an analyser has it. */
interface Cut {
  items: Item[];
  fillers: string[];
  /** Those of them that are of words. */
  filling: string[];
}

/** One way in which a document has a word: all of its terms. */
interface Way {
  /** Distinct. */
  terms: readonly string[];
  filter?: Filter;
  /** Whether it was written so, and is no synonym. */
  isTyped: boolean;
  /** Whether its terms weigh as much as single words. */
  isSum: boolean;
}

/** A group as it is looked for. */
interface AskedGroup {
  ways: Way[];
  /** Typed terms of which any is enough, as they stand in the text. */
  parts: string[][];
  hasRule: boolean;
  /** Analysers that leave it out. */
  leftOut: number[];
  isMust: boolean;
}

/**
 * As keywordDraft, of a collection of which fields have analysers of their own. A word of the query is one unit with
 * what each analyser makes of it, found in the fields of that analyser alone. A word that some leave out, because it is
 * a stop word there, ranks as the others have it. It is none of the words of which a share must be there; where all
 * must be, it is not asked of a document that has another of them in the fields of such an analyser.
 */
export function analysedDraft(query: KeywordQuery, analysers: QueryAnalysers): KeywordDraft {
  return new AnalysedDraft(query, analysers).draft();
}

class AnalysedDraft {
  private readonly terms: string[] = [];
  private readonly units: KeywordUnit[] = [];
  private readonly places = new Map<string, number>();
  /** Units by what they look for. */
  private readonly known = new Map<string, number>();
  private readonly variants = new Map<number, AskedVariants>();
  private fillerCount = 0;
  /** Units of which a term may be the beginning of others, by what was written. */
  private readonly beginnings: { at: number; typed: ReadonlySet<number>; hasRule: boolean }[] = [];
  private readonly free: { at: number; of: number; leftOut: readonly string[] }[] = [];
  /** The units of terms that fill in. */
  private readonly fillers = new Map<string, number>();
  /** Terms of words that fill in. */
  private readonly filling = new Set<string>();
  /** For terms that nobody wrote. */
  private meantRoom = 0;
  private isMeant = false;

  constructor(
    private readonly query: KeywordQuery,
    private readonly analysers: QueryAnalysers,
  ) {}

  draft(): KeywordDraft {
    const { query, units, terms, variants } = this;
    const positive = query.clauses.filter(({ occurs }) => occurs !== 'not');
    const bag = positive.filter(isOfBag);
    const last = query.clauses.at(-1);
    const begins = query.prefixLast === true && last?.occurs === 'may' && isOfBag(last) ? last : null;
    const { groups, fillers } = this.cutBag(bag, begins !== null);
    this.meantRoom = QUERY_TERMS_MAX - new Set(groups.flatMap(({ parts }) => parts.flat())).size;
    const must = new Set(groups.flatMap((group) => (group.isMust ? this.keysOf(group) : [])));
    /** Terms that rules have by themselves. */
    const ofRules = new Set(groups.flatMap((group) => (group.hasRule ? singleTerms(group.ways) : [])));
    const beginning = begins === null ? undefined : groups.at(-1);
    for (const group of groups) this.addGroup(group, must, ofRules, group === beginning);
    const words = this.beginnings.map(({ at }) => at);
    for (const filler of fillers) this.addFiller(filler);
    for (const clause of positive) if (!isOfBag(clause)) this.addClause(clause);
    if (begins !== null) this.addBeginning(begins.text);
    const optional = units.filter(({ isOptional }) => isOptional).length;
    const isMore = optional + this.fillerCount < units.length || (query.match === 'any' && this.fillerCount > 0);
    const draft = { terms, units, minimum: leastOf(query.match, optional, isMore), variants };
    return this.free.length === 0 ? draft : { ...draft, free: { words, units: this.free } };
  }

  private isOf({ terms }: Way, analyser: number): boolean {
    return this.markOf(terms[0]) === this.analysers.all[analyser].mark;
  }

  private markOf(term: string): string {
    return this.analysers.all.find(({ mark }) => mark !== '' && term.startsWith(mark))?.mark ?? '';
  }

  /** The words of clauses that are looked for everywhere, in their order. */
  private cutBag(bag: readonly KeywordClause[], countsLast: boolean): { groups: AskedGroup[]; fillers: string[][] } {
    let text = '';
    // A rule's words stand in one clause, or in neighbours of which none has a sign.
    const parts: (CutSpan & { isMust: boolean })[] = [];
    for (const { occurs, text: own } of bag) {
      if (text !== '') text += ' ';
      const start = text.length;
      text += own;
      const before = parts.at(-1);
      if (before !== undefined && !before.isMust && occurs === 'may') before.end = text.length;
      else parts.push({ start, end: text.length, isMust: occurs === 'must' });
    }
    const cuts = this.analysers.all.map((of) => this.cut(of, text, { parts, countsLast }));
    const groups = groupsOfPlaces(cuts.map(({ items }) => items)).map((group): AskedGroup => {
      const isMust = parts.some((part) => part.isMust && group.start >= part.start && group.start < part.end);
      return { ...this.asked(group), isMust };
    });
    const fillers = new Map<string, string[]>();
    cuts.forEach((cut, i) => {
      for (const term of cut.fillers) {
        const bare = term.slice(this.analysers.all[i].mark.length);
        const known = fillers.get(bare);
        if (known === undefined) fillers.set(bare, [term]);
        else if (!known.includes(term)) known.push(term);
      }
    });
    for (const { filling } of cuts) for (const term of filling) this.filling.add(term);
    return { groups, fillers: [...fillers.values()].slice(0, FILLERS_MAX) };
  }

  /** What counts of a text, and what fills in. `parts`: within which rules are looked for; without, there are none. */
  private cut(
    of: QueryAnalyser,
    text: string,
    {
      parts = [],
      countsLast = false,
      countsAll = false,
    }: { parts?: CutSpan[]; countsLast?: boolean; countsAll?: boolean },
  ): Cut {
    const rules = parts.flatMap(({ start, end }) =>
      of.synonyms
        .inQuery(text.slice(start, end))
        .rules.map((rule) => ({ rule, start: start + rule.start, end: start + rule.end })),
    );
    const { words, fillers, filling } = this.wordsOf(of, text, { countsLast, countsAll });
    let next = 0;
    const items: Item[] = words
      .filter((word) => {
        while (next < rules.length && rules[next].end < word.end) next++;
        return next === rules.length || word.start < rules[next].start;
      })
      .map((word) => ({ start: word.start, end: word.end, words: [word] }));
    for (const { rule, start, end } of rules)
      items.push({
        start,
        end,
        rule,
        words: rule.counting.map((word) => ({
          start: start + word.start - rule.start,
          end: start + word.end - rule.start,
          terms: this.marked(of, word.terms),
        })),
      });
    return { filling, items: rules.length === 0 ? items : items.sort((a, b) => a.start - b.start), fillers };
  }

  /** A run without spaces is cut by the dictionary, if one of the analysers has one. */
  private wordsOf(
    of: QueryAnalyser,
    text: string,
    { countsLast, countsAll }: { countsLast: boolean; countsAll: boolean },
  ): { words: Word[]; fillers: string[]; filling: string[] } {
    const { dictionary } = this.analysers;
    const { analyser } = of;
    const placed: (CutSpan & { terms: readonly string[]; kind: QueryWord['kind'] | 'stop' })[] = [];
    if (analyser.queryWords === undefined)
      for (const part of analyser.placedParts(text))
        for (const { term, start, end, isStopWord } of part)
          if (dictionary === undefined || !isUnspacedTerm(term))
            placed.push({ start, end, terms: [term], kind: isStopWord ? 'stop' : 'word' });
    const source = analyser.queryWords === undefined ? dictionary?.analyser : analyser;
    if (source !== undefined)
      for (const part of source.queryWords!(text))
        for (const word of part)
          if (word.terms.length > 0 && (source === analyser || isUnspacedTerm(word.terms[0]))) placed.push(word);
    if (source !== undefined && source !== analyser) placed.sort((a, b) => a.start - b.start);
    const own = placed.filter(({ kind }) => kind !== 'joint');
    const last = own.at(-1);
    const isLeftOut = (word: (typeof placed)[number]): boolean =>
      word.kind !== 'word' && !countsAll && !(countsLast && word.kind === 'stop' && word === last);
    const words = own.some(({ kind }) => kind === 'word') ? own.filter((word) => !isLeftOut(word)) : own;
    const fillers = placed.filter((word) => word.kind === 'joint' || (word.kind === 'filler' && !words.includes(word)));
    return {
      words: words.map(({ start, end, terms }) => ({ start, end, terms: this.marked(of, terms) })),
      fillers: this.marked(
        of,
        fillers.flatMap(({ terms }) => terms),
      ),
      filling: this.marked(
        of,
        fillers.flatMap(({ terms, kind }) => (kind === 'filler' ? terms : [])),
      ),
    };
  }

  /** The words of a text as they are stored, and filters ask for them. */
  private storedItems(of: QueryAnalyser, text: string): Item[] {
    return [...of.analyser.placedParts(text)].flat().map(({ term, start, end }) => {
      return { start, end, words: [{ start, end, terms: this.marked(of, [term]) }] };
    });
  }

  /** The terms of all words of a text, in its order. */
  private writtenTerms(of: QueryAnalyser, text: string): string[] {
    const { items } = this.cut(of, text, { countsAll: true });
    return items.flatMap(({ words }) => words.flatMap(({ terms }) => terms));
  }

  private marked({ mark }: QueryAnalyser, terms: readonly string[]): string[] {
    return terms.map((term) => mark + term);
  }

  /** The ways in which a group is found. */
  private asked({ items }: PlacedGroup<Item>): Omit<AskedGroup, 'isMust'> {
    const ways = items.flatMap((own, i) => this.waysOf(own, this.analysers.all[i]));
    const leftOut = items.flatMap((own, i) => (own.length === 0 ? [i] : []));
    const hasRule = items.some((own) => own.some(({ rule }) => rule !== undefined));
    return { ways, leftOut, hasRule, parts: partsOf(items, this.analysers) };
  }

  /** Of one analyser. */
  private waysOf(items: readonly Item[], of: QueryAnalyser): Way[] {
    if (items.length === 0) return [];
    let ways: Way[] = [{ terms: [], isTyped: true, isSum: items.every(({ rule }) => rule === undefined) }];
    for (const { words, rule } of items) {
      const typed = words.flatMap(({ terms }) => terms);
      const own: Omit<Way, 'isSum'>[] = [{ terms: typed, isTyped: true }];
      for (const { text, isPhrase, terms } of rule?.meanings ?? []) {
        const filter: Filter = { type: 'words', query: text, match: 'phrase', ...analyserIn(of) };
        own.push({ terms: this.marked(of, terms), isTyped: false, ...(isPhrase && { filter }) });
      }
      ways = ways.flatMap((way) => own.map((more) => joinedWay(way, more))).slice(0, QUERY_TERMS_MAX);
    }
    return ways;
  }

  /** What tells its units from others. */
  private keysOf({ ways, parts, hasRule }: AskedGroup): string[] {
    const whole = keyOf(ways);
    if (this.query.match !== 'any') return [whole];
    return [...(hasRule ? [whole] : []), ...parts.map((part) => keyOf(singleWays(part)))];
  }

  /** `begins`: the last word is the beginning of one, too, and counts although some leave it out. */
  private addGroup(group: AskedGroup, must: ReadonlySet<string>, ofRules: ReadonlySet<string>, begins: boolean): void {
    const { ways, parts, hasRule, leftOut } = group;
    const { match } = this.query;
    const isAny = match === 'any';
    if (!isAny || hasRule) {
      const isMust = must.has(keyOf(ways));
      const isFreeForSome = !isAny && !isMust && leftOut.length > 0 && (match === 'all' || !begins);
      const isNew = !this.known.has(keyOf(ways));
      const unit = this.addUnit(ways, { isOptional: !isMust && !isFreeForSome, isMust });
      if (unit !== null && isNew && isFreeForSome && match === 'all')
        this.free.push({
          at: this.units.push({ terms: [], isOptional: true, isFree: true }) - 1,
          of: unit,
          leftOut: leftOut.map((i) => this.analysers.all[i].mark),
        });
      if (!isAny) return;
    }
    // Where any word is enough, a part of one is, too; what a rule has by itself counts there.
    for (const part of parts) {
      const left = part.filter((term) => !ofRules.has(term));
      const isMust = must.has(keyOf(singleWays(part)));
      if (left.length > 0) this.addUnit(singleWays(left), { isOptional: !isMust, isMust });
    }
  }

  /** The place of the unit of some ways, which may be there already; null: there is no room. */
  private addUnit(
    ways: readonly Way[],
    { isMust = false, ...as }: { isOptional: boolean; isMust?: boolean },
  ): number | null {
    const key = keyOf(ways);
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const unit = this.unitOf(ways, as);
    if (unit === null) return null;
    const at = this.units.push(unit) - 1;
    this.known.set(key, at);
    // Where any word is enough, what a rule has first by itself is a word, too.
    const typed =
      this.query.match === 'any' ? this.firstTerms(ways) : singleTerms(ways.filter(({ isTyped }) => isTyped));
    const hasRule = ways.some(({ isTyped, isSum }) => !isTyped || !isSum);
    this.beginnings.push({ at, hasRule, typed: new Set(typed.map((term) => this.places.get(term)!)) });
    const edits = isMust ? [] : this.editsOf(ways);
    if (edits.length > 0) this.variants.set(at, { edits: 0, of: edits });
    return at;
  }

  /** What was written, or what an analyser has first of a single term. */
  private firstTerms(ways: readonly Way[]): string[] {
    return this.analysers.all.flatMap((_, i) => singleTerms(ways.filter((way) => this.isOf(way, i))).slice(0, 1));
  }

  private unitOf(ways: readonly Way[], as: Pick<KeywordUnit, 'isOptional'>): KeywordUnit | null {
    const terms: number[] = [];
    const meanings: KeywordMeaning[] = [];
    const written = new Set(ways.flatMap((way) => (way.isTyped ? way.terms : [])));
    if (this.placesOf([...written]) === null) {
      if (written.size > 0) checkShare(this.query.match);
      return null;
    }
    const met = new Set<string>();
    for (const way of ways) {
      const key = keyOf([{ ...way, isTyped: true }]);
      this.isMeant = !way.isTyped;
      const places = met.has(key) ? null : this.placesOf(way.terms);
      this.isMeant = false;
      met.add(key);
      if (places === null) continue;
      const { filter, isSum } = way;
      if (places.length === 1 && filter === undefined) terms.push(places[0]);
      else
        meanings.push({
          terms: places,
          ...(isSum && places.length > 1 && { isSum }),
          ...(filter !== undefined && { filter }),
        });
    }
    if (terms.length + meanings.length === 0) return null;
    const [single] = meanings;
    const isOne = terms.length === 0 && meanings.length === 1 && (single.isSum === true || single.terms.length === 1);
    if (isOne) {
      const { terms: all, filter } = single;
      return { terms: all, ...(filter !== undefined && { filter }), ...as };
    }
    if (terms.length === 1 && meanings.length === 0) return { terms, ...as };
    return { terms, factors: terms.map(() => 1), ...(meanings.length > 0 && { meanings }), ...as };
  }

  /** As of a bag, the first terms count; null: there is no room for some. */
  private placesOf(terms: readonly string[]): number[] | null {
    const added = [...new Set(terms)].filter((term) => !this.places.has(term));
    if (terms.length === 0 || this.terms.length + added.length > QUERY_TERMS_MAX) return null;
    if (this.isMeant) {
      if (added.length > this.meantRoom) return null;
      this.meantRoom -= added.length;
    }
    for (const term of added) this.places.set(term, this.terms.push(term) - 1);
    return terms.map((term) => this.places.get(term)!);
  }

  /** Near words of what was written. */
  private editsOf(ways: readonly Way[]): TermVariants[] {
    const { fuzzy = 0 } = this.query;
    return ways.flatMap(({ terms: [term, ...others], isTyped, filter }) => {
      const edits = editsOf(fuzzy, term);
      const isWhole = isTyped && others.length === 0 && filter === undefined && !this.isPartOfWord(term);
      return isWhole && edits > 0 ? [{ place: this.places.get(term)!, edits }] : [];
    });
  }

  /** One character more or less would make another word of it. */
  private isPartOfWord(term: string): boolean {
    const mark = this.markOf(term);
    const of = this.analysers.all.find((one) => one.mark === mark);
    const isCut = this.analysers.dictionary !== undefined || of?.analyser.queryWords !== undefined;
    return isCut && isUnspacedTerm(term.slice(mark.length));
  }

  private addFiller(terms: readonly string[]): void {
    if (terms.some((term) => this.places.has(term))) return;
    const places = this.placesOf(terms);
    if (places === null) return;
    const at = this.units.push(fillerUnit(places)) - 1;
    for (const term of terms) this.fillers.set(term, at);
    this.fillerCount += 1;
  }

  private addClause(clause: KeywordClause): void {
    const { occurs, path, stands, near } = clause;
    if (stands !== undefined) return this.addVarying(clause, stands);
    const scopes = path === undefined ? this.analysers.all : [this.analysers.ofPath(path)];
    if (path !== undefined && near === undefined) {
      const [of] = scopes;
      const placesOf = (terms: readonly string[]): number[] | null => this.placesOf(this.marked(of, terms));
      const units = groupsOfField(clause, of.synonyms, placesOf, analyserIn(of));
      if (units !== null) {
        this.units.push(...units);
        return;
      }
    }
    const ways = scopes.flatMap((of): Way[] => {
      const terms = this.marked(of, queryTerms(of.analyser, clause.text));
      const filter: Filter = { ...conditionOf(clause), ...analyserIn(of) };
      // What must be there is asked of all.
      const isApart = occurs === 'may' || scopes.length > 1;
      return terms.length === 0 ? [] : [{ terms, isTyped: true, isSum: true, ...(isApart && { filter }) }];
    });
    const unit = ways.length === 0 ? null : this.unitOf(ways, { isOptional: occurs === 'may' });
    if (unit !== null) this.units.push(unit);
  }

  /** Words of which the last one stands for others. */
  private addVarying(clause: KeywordClause, stands: NonNullable<KeywordClause['stands']>): void {
    const { occurs, path, text } = clause;
    const isAsked = occurs === 'must' || path !== undefined;
    const scopes = path === undefined ? this.analysers.all : [this.analysers.ofPath(path)];
    const lasts: { term: string; variants: Variants }[] = [];
    const others = new Set<string>();
    for (const of of scopes) {
      if (isAsked) {
        const sought = variedWords(of.analyser, text, stands);
        if (sought === null) continue;
        lasts.push({ term: of.mark + sought.term, variants: sought.variants });
        for (const term of this.marked(of, sought.others)) others.add(term);
      } else {
        const terms = this.writtenTerms(of, text);
        const term = terms.at(-1);
        if (term === undefined) continue;
        lasts.push({ term, variants: variantsOf(stands, term, text) });
        for (const one of terms.slice(0, -1)) others.add(one);
      }
    }
    const places = this.placesOf([...others, ...lasts.map(({ term }) => term)])?.slice(others.size);
    if (places === undefined || places.length === 0) return;
    const addOthers = (): void => {
      // What a field has to have, its condition asks for.
      if (path !== undefined) return;
      const cuts = this.analysers.all.map((of) =>
        isAsked ? this.storedItems(of, text) : this.cut(of, text, { countsAll: true }).items,
      );
      const met = new Set(lasts.map(({ term }) => term));
      for (const part of groupsOfPlaces(cuts).flatMap((group) => partsOf(group.items, this.analysers))) {
        const left = part.filter((term) => others.has(term) && !met.has(term));
        if (left.length > 0) this.addUnit(singleWays(left), { isOptional: !isAsked, isMust: true });
      }
    };
    if (!isAsked) addOthers();
    const at = this.units.length;
    const of = lasts.map(({ variants }, i) => ({ ...marked(variants, this.markOf(lasts[i].term)), place: places[i] }));
    this.variants.set(at, { edits: 0, of, ...(isAsked && { areAll: true }) });
    this.units.push({
      ...unitOfPlaces([...new Set(places)]),
      isOptional: occurs === 'may',
      ...(isAsked && occurs === 'may' && { filter: { ...conditionOf(clause), ...analyserIn(scopes[0]) } }),
    });
    if (isAsked) addOthers();
    else this.beginnings.push({ at, hasRule: false, typed: new Set(places) });
  }

  /** The last word is the beginning of one, too. */
  private addBeginning(text: string): void {
    const lasts = this.analysers.all.flatMap((of) => {
      const term = this.writtenTerms(of, text).at(-1);
      return term === undefined ? [] : [{ term, variants: variantsOf('prefix', term, text) }];
    });
    const places = this.placesOf(lasts.map(({ term }) => term));
    if (places === null) return;
    const found = new Map<number, TermVariants[]>();
    /** Those of which there is no unit that may be there. */
    const apart: number[] = [];
    const fillings: number[] = [];
    lasts.forEach(({ variants }, i) => {
      const own: TermVariants = { place: places[i], ...variants, edits: 0 };
      const at = this.beginnings
        .filter((one) => (this.units[one.at].isOptional || this.isFree(one.at)) && one.typed.has(places[i]))
        .sort((a, b) => Number(a.hasRule) - Number(b.hasRule) || a.at - b.at)[0]?.at;
      const whole = this.beginnings.find((one) => this.allOf(one.at).some((all) => all.at(-1) === places[i]))?.at;
      if (at !== undefined) found.set(at, [...(found.get(at) ?? []), own]);
      else if (whole !== undefined && this.query.match !== 'any') {
        const all = this.allOf(whole).find((one) => one.at(-1) === places[i])!;
        found.set(whole, [...(found.get(whole) ?? []), { ...own, meaning: all }]);
      } else {
        // What fills in stands for others as what fills in.
        const filler = this.fillers.get(lasts[i].term);
        if (filler === undefined) (this.filling.has(lasts[i].term) ? fillings : apart).push(i);
        else found.set(filler, [...(found.get(filler) ?? []), own]);
      }
    });
    for (const own of [apart, fillings]) {
      if (own.length === 0) continue;
      const at = own.map((i) => places[i]);
      const unit = own === apart ? { ...unitOfPlaces(at), isOptional: true } : fillerUnit(at);
      found.set(
        this.units.push(unit) - 1,
        own.map((i): TermVariants => ({ place: places[i], ...lasts[i].variants, edits: 0 })),
      );
    }
    for (const [at, more] of found) {
      const known = this.variants.get(at)?.of ?? [];
      const merged = [...known, ...more.filter(({ place }) => known.every((one) => one.place !== place))].map((one) => {
        const begins = more.find(({ place }) => place === one.place);
        return begins === undefined ? one : { ...begins, edits: one.edits };
      });
      this.variants.set(at, { edits: 0, of: merged });
    }
  }

  private isFree(unit: number): boolean {
    return this.free.some(({ of }) => of === unit);
  }

  /** Of words with synonyms, the terms of which a document has to have all. */
  private allOf(unit: number): (readonly number[])[] {
    const { meanings = [] } = this.units[unit];
    return meanings.flatMap(({ terms, filter, isSum }) => (filter === undefined && isSum === undefined ? [terms] : []));
  }
}

function analyserIn({ name }: QueryAnalyser): { analyser?: NonNullable<QueryAnalyser['name']> } {
  return name === undefined ? {} : { analyser: name };
}

function marked(variants: Variants, mark: string): Variants {
  const { prefixes } = variants;
  if (prefixes === undefined) return variants;
  return { ...variants, prefixes: prefixes.map((prefix) => (prefix.startsWith(mark) ? prefix : mark + prefix)) };
}

function fillerUnit(places: readonly number[]): KeywordUnit {
  return { terms: places, factors: places.map(() => FILLER_FACTOR), isOptional: false };
}

function unitOfPlaces(places: readonly number[]): Pick<KeywordUnit, 'terms' | 'factors'> {
  return places.length === 1 ? { terms: places } : { terms: places, factors: places.map(() => 1) };
}

function singleWays(terms: readonly string[]): Way[] {
  return terms.map((term) => ({ terms: [term], isTyped: true, isSum: true }));
}

function singleTerms(ways: readonly Way[]): string[] {
  return ways.flatMap(({ terms, filter }) => (terms.length === 1 && filter === undefined ? terms : []));
}

/** A way that has both. */
function joinedWay(way: Way, more: Omit<Way, 'isSum'>): Way {
  const filters = [way.filter, more.filter].filter((filter) => filter !== undefined);
  return {
    ...way,
    terms: [...new Set([...way.terms, ...more.terms])],
    isTyped: way.isTyped && more.isTyped,
    ...(filters.length > 0 && { filter: filters.length === 1 ? filters[0] : { type: 'and', filters } }),
  };
}

/** What was written is told from what it means besides. */
function keyOf(ways: readonly Pick<Way, 'terms' | 'filter' | 'isTyped'>[]): string {
  return ways
    .map(
      ({ terms, filter, isTyped }) =>
        `${isTyped ? '' : '\t'}${[...terms].sort().join(' ')}${filter === undefined ? '' : JSON.stringify(filter)}`,
    )
    .sort()
    .join('\n');
}

/** Typed terms of which any is enough: of words, what stands in one place; of runs, what is the same. */
function partsOf(items: readonly (readonly Item[])[], { all }: QueryAnalysers): string[][] {
  const parts = new Map<string, string[]>();
  items.forEach((own, i) => {
    const { mark } = all[i];
    for (const { words } of own)
      for (const { start, end, terms } of words)
        for (const term of terms) {
          const bare = term.slice(mark.length);
          const key = isUnspacedTerm(bare) ? ` ${bare}` : `${start} ${end}`;
          const part = parts.get(key);
          if (part === undefined) parts.set(key, [term]);
          else if (!part.includes(term)) part.push(term);
        }
  });
  return [...parts.values()];
}
