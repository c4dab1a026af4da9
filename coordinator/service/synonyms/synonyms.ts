import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { type Analyser, QUERY_TERMS_MAX, queryTerms } from '../../../shared/base/text/analyser';
import type { Language } from '../../../shared/base/text/language';
import type { KeywordFields } from '../../../shared/contract/shard/keyword-fields';
import { type Filter, isCondition, type WordsCondition } from '../../../shared/contract/filter/filter';
import { countingWords, OwnStopWords, type StopWords } from './own-stop-words';
import type { SynonymRule } from './synonym-rules';
import { type CutsText, type CutWord, soughtWords, storedWords } from './cut-words';

/** What a word may be called otherwise. */
export interface Meaning {
  /** As the rule has it. */
  text: string;
  /** Of several words, which stand together where they are found. */
  isPhrase: boolean;
  /** All of them are there where it is. */
  terms: readonly string[];
}

/** Words of a query for which there are rules. */
export interface FoundRule {
  /** As they were written. */
  text: string;
  /** In the query. */
  start: number;
  end: number;
  words: readonly CutWord[];
  /** Those of them that are no stop words, if there are others. */
  counting: readonly CutWord[];
  /** What it means has all of them, wherever they are. */
  terms: readonly string[];
  meanings: readonly Meaning[];
}

/** A query, cut. */
export interface CutQuery {
  /** Words that no rule took, without stop words if there are others. */
  words: CutWord[];
  rules: FoundRule[];
}

/** Words for which there are rules. */
interface Entry {
  /** What they mean: the texts of each rule. */
  texts: (readonly string[])[];
  /** Each once; undefined: nobody has asked for them. */
  meanings?: readonly Meaning[];
}

/**
 * The synonyms of a collection. Rules act on queries alone: what is stored knows none. The longest words that a rule
 * has win at each place; what was asked for always stays a meaning of itself, so a rule takes no hit away. Meanings
 * are not looked up again.
 */
export class Synonyms {
  private readonly sought: RuleTable;
  private readonly stored: RuleTable;
  private readonly own: OwnStopWords | null;

  constructor(
    rules: readonly SynonymRule[],
    readonly analyser: Analyser,
  ) {
    this.own = analyser instanceof OwnStopWords ? analyser : null;
    const [sought, stored] = [this.own?.sought ?? soughtWords(analyser), this.own?.stored ?? storedWords(analyser)];
    this.sought = new RuleTable(rules, analyser, sought);
    this.stored = analyser.queryWords === undefined ? this.sought : new RuleTable(rules, analyser, stored);
  }

  /** Of a text whose words are looked for in the list of keywords. */
  inQuery(text: string): CutQuery {
    return this.sought.cut(text);
  }

  /** Of a text whose words a filter asks for. */
  inCondition(text: string): CutQuery {
    return this.stored.cut(text);
  }

  /** What counts of a text whose last word stands for others, and so counts in any case. */
  withLast(text: string): CutWord[] {
    const words = (this.own?.stored ?? storedWords(this.analyser))(text);
    const counting = new Set(countingWords(words));
    return words.filter((word, i) => counting.has(word) || i === words.length - 1);
  }

  /**
   * The filter that lets what has the synonyms of its words through, too, and asks for the words that count in this
   * collection, of shards that know the stop words of its language alone. Phrases, and words that stand for others, are
   * taken as they are. Errors: limit_exceeded for more synonyms than a query has words.
   */
  inFilter(filter: Filter): Filter {
    let count = 0;
    const widened = (condition: WordsCondition): Filter => {
      const found = this.widened(condition);
      count += found.count;
      if (count > QUERY_TERMS_MAX)
        throw new QuiverError(
          'limit_exceeded',
          `the words of the filter have more than ${QUERY_TERMS_MAX} synonyms in this collection`,
        );
      return found.filter;
    };
    return withConditions(filter, (condition) => (condition.type === 'words' ? widened(condition) : condition));
  }

  private widened(condition: WordsCondition): { filter: Filter; count: number } {
    const { query, match, paths, stands, analyser } = condition;
    if (match === 'phrase') return { filter: condition, count: 0 };
    const of = (text: string, how: WordsCondition['match']): WordsCondition => ({
      type: 'words',
      query: text,
      match: how,
      ...(paths !== undefined && { paths }),
      ...(analyser !== undefined && { analyser }),
    });
    const asked = (words: readonly CutWord[], how: 'any' | 'all'): Filter => filterOfWords(words, query, how, of);
    if (stands !== undefined)
      return { filter: this.own === null ? condition : varied(condition, this.own, asked), count: 0 };
    const { words, rules } = this.stored.cut(query);
    if (rules.length === 0 && (this.own === null || words.length === 0)) return { filter: condition, count: 0 };
    const meant = rules.map(({ meanings }) =>
      meanings.map(({ text, isPhrase }) => of(text, isPhrase ? 'phrase' : 'all')),
    );
    const count = meant.reduce((sum, { length }) => sum + length, 0);
    if (match === 'any') {
      const all = [...words, ...rules.flatMap(({ counting }) => counting)];
      return {
        filter: joinedFilters('or', [this.own === null ? condition : asked(all, 'any'), ...meant.flat()]),
        count,
      };
    }
    const filters = rules.map(({ counting }, i) => joinedFilters('or', [asked(counting, 'all'), ...meant[i]]));
    if (words.length > 0) filters.push(asked(words, 'all'));
    return { filter: joinedFilters('and', filters), count };
  }
}

export function joinedFilters(type: 'and' | 'or', filters: Filter[]): Filter {
  return filters.length === 1 ? filters[0] : { type, filters };
}

/**
 * A condition for words that count. A shard leaves stop words of the language out where there are others: those that
 * count in this collection are conditions of their own.
 */
export function filterOfWords(
  words: readonly CutWord[],
  query: string,
  match: 'any' | 'all',
  of: (text: string, match: 'any' | 'all') => Filter,
): Filter {
  const text = (some: readonly CutWord[]): string => some.map(({ start, end }) => query.slice(start, end)).join(' ');
  const others = words.filter(({ isOfLanguage }) => isOfLanguage !== true);
  if (others.length === 0 || others.length === words.length) return of(text(words), match);
  const apart = new Map(words.flatMap((word) => (word.isOfLanguage === true ? [[word.key, word] as const] : [])));
  const filters = [of(text(others), match), ...[...apart.values()].map((word) => of(text([word]), match))];
  return { type: match === 'all' ? 'and' : 'or', filters };
}

/** The same of words of which the last one stands for others. */
function varied(
  condition: WordsCondition,
  own: OwnStopWords,
  asked: (words: readonly CutWord[], match: 'all') => Filter,
): Filter {
  const words = own.stored(condition.query);
  const last = words.at(-1);
  if (last === undefined || words.length === 1) return condition;
  const others = countingWords(words).filter(({ key }) => key !== last.key);
  const varying: Filter = { ...condition, query: condition.query.slice(last.start, last.end) };
  return others.length === 0 ? varying : { type: 'and', filters: [varying, asked(others, 'all')] };
}

/** Rules by the words that they are for. Their texts are cut once each, and what words mean is found out when asked. */
class RuleTable {
  /** By {@link nameOf}. */
  private readonly entries = new Map<string, Entry>();
  /** By the first word: how many words the longest entry has. */
  private readonly longest = new Map<string, number>();
  /** By text. */
  private readonly names = new Map<string, string>();
  private readonly meanings = new Map<string, Meaning | null>();

  constructor(
    rules: readonly SynonymRule[],
    private readonly analyser: Analyser,
    private readonly cutText: CutsText,
  ) {
    for (const rule of rules)
      for (const from of 'to' in rule ? rule.from : rule) {
        const name = this.nameOf(from);
        let entry = this.entries.get(name);
        if (entry === undefined) this.entries.set(name, (entry = { texts: [] }));
        entry.texts.push('to' in rule ? rule.to : rule);
      }
    for (const name of this.entries.keys()) {
      const keys = name.split('\n');
      this.longest.set(keys[0], Math.max(keys.length, this.longest.get(keys[0]) ?? 0));
    }
  }

  cut(text: string): CutQuery {
    const cut = this.cutText(text);
    const counting = new Set(countingWords(cut));
    const words: CutWord[] = [];
    const rules: FoundRule[] = [];
    for (let at = 0; at < cut.length;) {
      const found = this.longestAt(cut, at);
      const own = found === null ? [] : cut.slice(at, at + found.count);
      const ownCounting = own.filter((word) => counting.has(word));
      if (found === null || ownCounting.length === 0) {
        if (counting.has(cut[at])) words.push(cut[at]);
        at += 1;
        continue;
      }
      const { start } = own[0];
      const { end } = own[own.length - 1];
      const rule = { text: text.slice(start, end), start, end, words: own, counting: ownCounting };
      rules.push({ ...rule, terms: termsOf(ownCounting), meanings: found.meanings });
      at += own.length;
    }
    return { words, rules };
  }

  /** The most words from a place on that mean something else, too. */
  private longestAt(cut: readonly CutWord[], at: number): { count: number; meanings: readonly Meaning[] } | null {
    const most = Math.min(this.longest.get(cut[at].key) ?? 0, cut.length - at);
    const names: string[] = [];
    for (let count = 0; count < most; count++)
      names.push(count === 0 ? cut[at].key : `${names[count - 1]}\n${cut[at + count].key}`);
    for (let count = most; count > 0; count--) {
      const name = names[count - 1];
      const entry = this.entries.get(name);
      const meanings = entry === undefined ? [] : (entry.meanings ??= this.meaningsOf(name, entry));
      if (meanings.length > 0) return { count, meanings };
    }
    return null;
  }

  /** More than a query has terms are of no use: with one more than that, it is refused. */
  private meaningsOf(name: string, { texts }: Entry): Meaning[] {
    const known = new Set([name]);
    const meanings: Meaning[] = [];
    for (const text of texts.flat()) {
      const other = this.nameOf(text);
      if (known.has(other)) continue;
      known.add(other);
      const meaning = this.meaningOf(text);
      if (meaning !== null && meanings.push(meaning) > QUERY_TERMS_MAX) break;
    }
    return meanings;
  }

  /** null: it has no words. */
  private meaningOf(text: string): Meaning | null {
    let meaning = this.meanings.get(text);
    if (meaning === undefined) {
      // By no dictionary, so that filters find the same. A phrase has its stop words, too.
      const isPhrase = storedWords(this.analyser)(text).length > 1;
      const terms = isPhrase ? [...new Set(this.analyser.terms(text))] : queryTerms(this.analyser, text);
      this.meanings.set(text, (meaning = terms.length === 0 ? null : { text, isPhrase, terms }));
    }
    return meaning;
  }

  private nameOf(text: string): string {
    let name = this.names.get(text);
    if (name === undefined)
      this.names.set(
        text,
        (name = this.cutText(text)
          .map(({ key }) => key)
          .join('\n')),
      );
    return name;
  }
}

/** The different terms of some words. */
export function termsOf(words: readonly CutWord[]): string[] {
  return [...new Set(words.flatMap(({ terms }) => terms))];
}

/** The filter with others in the place of its conditions; itself where none is another. */
export function withConditions(filter: Filter, changed: (condition: Filter & { type: string }) => Filter): Filter {
  if (isCondition(filter)) return changed(filter);
  if (filter.type === 'not') {
    const inner = withConditions(filter.filter, changed);
    return inner === filter.filter ? filter : { type: 'not', filter: inner };
  }
  const filters = filter.filters.map((part) => withConditions(part, changed));
  return filters.every((part, i) => part === filter.filters[i]) ? filter : { type: filter.type, filters };
}

/** By analyser. */
const known = new WeakMap<readonly SynonymRule[], WeakMap<Analyser, Synonyms>>();
/** By the rules as text, the last ones behind: a record that is read again has the same rules as another object. */
const latest = new Map<string, Synonyms>();
const LATEST_MAX = 64;

/** The synonyms that a collection's rules are; undefined: it has none. */
export function synonymsOf(rules: readonly SynonymRule[] | undefined, analyser: Analyser): Synonyms | undefined {
  if (rules === undefined) return undefined;
  let ofRules = known.get(rules);
  if (ofRules === undefined) known.set(rules, (ofRules = new WeakMap()));
  let synonyms = ofRules.get(analyser);
  if (synonyms === undefined) {
    const text = `${analyser.name} ${JSON.stringify(rules)}`;
    synonyms = latest.get(text);
    if (synonyms === undefined || synonyms.analyser !== analyser) synonyms = new Synonyms(rules, analyser);
    latest.delete(text);
    latest.set(text, synonyms);
    for (const oldest of latest.keys()) if (latest.size > LATEST_MAX) latest.delete(oldest);
    ofRules.set(analyser, synonyms);
  }
  return synonyms;
}

/** What a collection has of its words. */
export interface CollectionWords {
  /** The language of its keyword text. */
  language: Language | null;
  synonyms?: readonly SynonymRule[] | undefined;
  stopWords?: StopWords | undefined;
  keywordFields?: KeywordFields | undefined;
}

export const NO_RULES: readonly SynonymRule[] = [];
