import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { type Analyser, QUERY_TERMS_MAX, queryTerms } from '../../../shared/base/text/analyser';
import { analyserFor } from '../../../shared/base/text/analyser-for';
import type { Language } from '../../../shared/base/text/language';
import { type Filter, isCondition, type WordsCondition } from '../../../shared/contract/filter/filter';
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
  /** What it means has all of them, wherever they are. */
  terms: readonly string[];
  meanings: readonly Meaning[];
}

/** A query, cut. */
export interface CutQuery {
  /** Words that no rule took. */
  words: CutWord[];
  rules: FoundRule[];
}

interface Entry {
  keys: readonly string[];
  /** Each once. */
  meanings: (Meaning & { name: string })[];
}

/**
 * The synonyms of a collection. Rules act on queries alone: what is stored knows none. The longest words that a rule
 * has win at each place; what was asked for always stays a meaning of itself, so a rule takes no hit away. Meanings
 * are not looked up again.
 */
export class Synonyms {
  private readonly sought: RuleTable;
  private readonly stored: RuleTable;

  constructor(
    rules: readonly SynonymRule[],
    readonly analyser: Analyser,
  ) {
    this.sought = new RuleTable(rules, analyser, soughtWords(analyser));
    this.stored =
      analyser.queryWords === undefined ? this.sought : new RuleTable(rules, analyser, storedWords(analyser));
  }

  /** Of a text whose words are looked for in the list of keywords. */
  inQuery(text: string): CutQuery {
    return this.sought.cut(text);
  }

  /** Of a text whose words a filter asks for. */
  inCondition(text: string): CutQuery {
    return this.stored.cut(text);
  }

  /**
   * The filter that lets what has the synonyms of its words through, too; phrases, and words that stand for others,
   * are taken as they are. Errors: limit_exceeded for more synonyms than a query has words.
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
    const { query, match, paths, stands } = condition;
    if (match === 'phrase' || stands !== undefined) return { filter: condition, count: 0 };
    const { words, rules } = this.stored.cut(query);
    if (rules.length === 0) return { filter: condition, count: 0 };
    const of = (text: string, how: WordsCondition['match']): WordsCondition => ({
      type: 'words',
      query: text,
      match: how,
      ...(paths !== undefined && { paths }),
    });
    const meant = rules.map(({ meanings }) =>
      meanings.map(({ text, isPhrase }) => of(text, isPhrase ? 'phrase' : 'all')),
    );
    const count = meant.reduce((sum, { length }) => sum + length, 0);
    if (match === 'any') return { filter: { type: 'or', filters: [condition, ...meant.flat()] }, count };
    const filters = rules.map(({ text }, i): Filter => ({ type: 'or', filters: [of(text, 'all'), ...meant[i]] }));
    // Where there is a rule, there are words besides stop words.
    const others = words.filter(({ isStopWord }) => !isStopWord).map(({ start, end }) => query.slice(start, end));
    if (others.length > 0) filters.push(of(others.join(' '), 'all'));
    return { filter: filters.length === 1 ? filters[0] : { type: 'and', filters }, count };
  }
}

/** Rules by the words that they are for. */
class RuleTable {
  /** By the first word, the longest first. */
  private readonly byFirst = new Map<string, Entry[]>();

  constructor(
    rules: readonly SynonymRule[],
    private readonly analyser: Analyser,
    private readonly cutText: CutsText,
  ) {
    const entries = new Map<string, Entry>();
    for (const rule of rules)
      for (const from of 'to' in rule ? rule.from : rule) {
        const keys = this.keysOf(from);
        const name = keys.join('\n');
        let entry = entries.get(name);
        if (entry === undefined) entries.set(name, (entry = { keys, meanings: [] }));
        for (const to of 'to' in rule ? rule.to : rule) this.add(entry, to);
      }
    for (const entry of entries.values()) {
      if (entry.meanings.length === 0) continue;
      const { keys } = entry;
      this.byFirst.set(keys[0], [...(this.byFirst.get(keys[0]) ?? []), entry]);
    }
    for (const known of this.byFirst.values()) known.sort((a, b) => b.keys.length - a.keys.length);
  }

  cut(text: string): CutQuery {
    const cut = this.cutText(text);
    // Stop words count where there are no others.
    const isMeaningful = cut.some(({ isStopWord }) => !isStopWord);
    const counts = ({ isStopWord }: CutWord): boolean => !isStopWord || !isMeaningful;
    const words: CutWord[] = [];
    const rules: FoundRule[] = [];
    for (let at = 0; at < cut.length;) {
      const entry = this.byFirst.get(cut[at].key)?.find(({ keys }) => keys.every((key, i) => cut[at + i]?.key === key));
      const own = entry === undefined ? [] : cut.slice(at, at + entry.keys.length);
      if (entry === undefined || !own.some(counts)) {
        words.push(cut[at]);
        at += 1;
        continue;
      }
      const { start } = own[0];
      const { end } = own[own.length - 1];
      const terms = termsOf(own.filter(counts));
      const written = text.slice(start, end);
      rules.push({ text: written, start, end, words: own, terms, meanings: entry.meanings });
      at += own.length;
    }
    return { words, rules };
  }

  private add(entry: Entry, to: string): void {
    const keys = this.keysOf(to);
    const name = keys.join('\n');
    // By no dictionary, so that filters find the same. A phrase has its stop words, too.
    const isPhrase = storedWords(this.analyser)(to).length > 1;
    const terms = isPhrase ? [...new Set(this.analyser.terms(to))] : queryTerms(this.analyser, to);
    const isKnown = name === entry.keys.join('\n') || entry.meanings.some((one) => one.name === name);
    if (!isKnown && terms.length > 0) entry.meanings.push({ name, text: to, isPhrase, terms });
  }

  private keysOf(text: string): string[] {
    return this.cutText(text).map(({ key }) => key);
  }
}

/** The different terms of some words. */
export function termsOf(words: readonly CutWord[]): string[] {
  return [...new Set(words.flatMap(({ terms }) => terms))];
}

/** The filter with others in the place of its conditions; itself where none is another. */
function withConditions(filter: Filter, changed: (condition: Filter & { type: string }) => Filter): Filter {
  if (isCondition(filter)) return changed(filter);
  if (filter.type === 'not') {
    const inner = withConditions(filter.filter, changed);
    return inner === filter.filter ? filter : { type: 'not', filter: inner };
  }
  const filters = filter.filters.map((part) => withConditions(part, changed));
  return filters.every((part, i) => part === filter.filters[i]) ? filter : { type: filter.type, filters };
}

const known = new WeakMap<readonly SynonymRule[], Synonyms>();

/** The synonyms that a collection's rules are; undefined: it has none. */
export function synonymsOf(rules: readonly SynonymRule[] | undefined, analyser: Analyser): Synonyms | undefined {
  if (rules === undefined) return undefined;
  let synonyms = known.get(rules);
  if (synonyms === undefined || synonyms.analyser !== analyser)
    known.set(rules, (synonyms = new Synonyms(rules, analyser)));
  return synonyms;
}

/** What a collection has of its words. */
export interface CollectionWords {
  /** The language of its keyword text. */
  language: Language | null;
  synonyms?: readonly SynonymRule[] | undefined;
}

/** A filter as the collection's synonyms have it; itself where there are none. Errors: limit_exceeded. */
export function filterIn<Given extends Filter | null>(
  { language, synonyms }: CollectionWords,
  filter: Given,
): Given | Filter {
  if (synonyms === undefined || filter === null) return filter;
  return synonymsOf(synonyms, analyserFor(language))!.inFilter(filter);
}
