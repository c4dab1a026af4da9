import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { QUERY_TERMS_MAX } from '../../../shared/base/text/analyser';
import type { Filter, WordsCondition } from '../../../shared/contract/filter/filter';
import type { CutWord } from './cut-words';
import {
  groupsOfPlaces,
  type PlacedGroup,
  type QueryAnalyser,
  type QueryAnalysers,
  type CutSpan,
} from './query-analysers';
import { type FoundRule, filterOfWords, joinedFilters, withConditions } from './synonyms';

/** Where an analyser looks; without paths, in all of its fields. */
interface Scope {
  of: QueryAnalyser;
  paths: string[] | undefined;
}

type Item = CutSpan & ({ word: CutWord } | { rule: FoundRule });

/**
 * A filter for shards that look by one analyser in its fields: what any of them finds passes. Of words that must all be
 * there, each may be in fields of another analyser. One that an analyser leaves out, because it is a stop word there,
 * is not asked of what has another of the words in its fields. Errors: limit_exceeded for more synonyms than a query
 * has words.
 */
export function analysedFilter(filter: Filter, analysers: QueryAnalysers): Filter {
  return withConditions(filter, (condition) =>
    condition.type === 'words' ? widened(condition, analysers) : condition,
  );
}

function widened(condition: WordsCondition, analysers: QueryAnalysers): Filter {
  const scopes = scopesOf(condition, analysers);
  const { match, stands } = condition;
  if (scopes.length === 1 || (match !== 'all' && stands === undefined))
    return joinedFilters(
      'or',
      scopes.map((scope) => scope.of.synonyms.inFilter(inScope(condition, scope))),
    );
  const { query } = condition;
  const cuts = scopes.map(({ of }) => (stands === undefined ? itemsOf(of, query) : wordsOf(of, query)));
  const groups = groupsOfPlaces(cuts);
  const meanings = cuts.flat().reduce((sum, item) => sum + ('rule' in item ? item.rule.meanings.length : 0), 0);
  if (meanings > QUERY_TERMS_MAX)
    throw new QuiverError(
      'limit_exceeded',
      `the words of the filter have more than ${QUERY_TERMS_MAX} synonyms in this collection`,
    );
  // Nothing has no words.
  if (groups.length === 0) return inScope(condition, scopes[0]);
  const last = stands === undefined ? undefined : groups.pop();
  const filters = groupedByLeftOut(groups).flatMap(({ leftOut, parts }) => {
    const asked = parts.map(({ items }) =>
      joinedFilters(
        'or',
        items.flatMap((own, i) => {
          const of = conditions(scopes[i]);
          const all = own.map((item) => filterOfItem(item, query, of));
          return all.length === 0 ? [] : [joinedFilters('and', all)];
        }),
      ),
    );
    if (leftOut.length === 0) return asked;
    const others = leftOut.map((i) => anyItem(cuts[i], query, conditions(scopes[i])));
    return [joinedFilters('or', [joinedFilters('and', asked), ...others])];
  });
  if (last !== undefined) filters.push(varying(condition, scopes, last));
  return joinedFilters('and', filters);
}

/**
 * The different groups by which analysers leave them out: what has another word in the fields of one of these is asked
 * for none of them, so that this is said once, and not with each of very many stop words.
 */
function groupedByLeftOut(groups: readonly PlacedGroup<Item>[]): { leftOut: number[]; parts: PlacedGroup<Item>[] }[] {
  const grouped = new Map<string, { leftOut: number[]; parts: Map<string, PlacedGroup<Item>> }>();
  for (const group of groups) {
    const leftOut = group.items.flatMap((own, i) => (own.length === 0 ? [i] : []));
    const name = leftOut.join(' ');
    let known = grouped.get(name);
    if (known === undefined) grouped.set(name, (known = { leftOut, parts: new Map() }));
    known.parts.set(group.items.map((own) => own.map(keyOf).join('\t')).join('\r'), group);
  }
  return [...grouped.values()].map(({ leftOut, parts }) => ({ leftOut, parts: [...parts.values()] }));
}

/** The same for items that an analyser does not tell apart. */
function keyOf(item: Item): string {
  return 'word' in item ? item.word.key : item.rule.words.map(({ key }) => key).join('\n');
}

/** The last word, which stands for others. */
function varying(condition: WordsCondition, scopes: readonly Scope[], { start, end }: CutSpan): Filter {
  const query = condition.query.slice(start, end);
  return joinedFilters(
    'or',
    scopes.map((scope) => ({ ...inScope(condition, scope), query })),
  );
}

function scopesOf({ paths }: WordsCondition, analysers: QueryAnalysers): Scope[] {
  if (paths === undefined) return analysers.all.map((of) => ({ of, paths }));
  const found = new Map<QueryAnalyser, string[]>();
  for (const path of paths) {
    const of = analysers.ofPath(path);
    found.set(of, [...(found.get(of) ?? []), path]);
  }
  return [...found].map(([of, own]) => ({ of, paths: own }));
}

function inScope(condition: WordsCondition, { of: { name }, paths }: Scope): WordsCondition {
  return {
    ...condition,
    ...(paths !== undefined && { paths }),
    ...(name !== undefined && { analyser: name }),
  };
}

function conditions(scope: Scope): (query: string, match: WordsCondition['match']) => WordsCondition {
  return (query, match) => inScope({ type: 'words', query, match }, scope);
}

/** What counts of a text. */
function itemsOf({ synonyms }: QueryAnalyser, query: string): Item[] {
  const { words, rules } = synonyms.inCondition(query);
  return [
    ...words.map((word) => ({ word, start: word.start, end: word.end })),
    ...rules.map((rule) => ({ rule, start: rule.start, end: rule.end })),
  ];
}

/** The same without synonyms, and with the last word in any case. */
function wordsOf({ synonyms }: QueryAnalyser, query: string): Item[] {
  return synonyms.withLast(query).map((word) => ({ word, start: word.start, end: word.end }));
}

/** What has one of the items. */
function anyItem(
  items: readonly Item[],
  query: string,
  of: (query: string, match: WordsCondition['match']) => WordsCondition,
): Filter {
  const different = [...new Map(items.map((item) => [keyOf(item), item])).values()];
  const words = different.flatMap((item) => ('word' in item ? [item.word] : []));
  const rules = different.filter((item) => 'rule' in item).map((item) => filterOfItem(item, query, of));
  const filters = words.length === 0 && rules.length > 0 ? rules : [filterOfWords(words, query, 'any', of), ...rules];
  return joinedFilters('or', filters);
}

function filterOfItem(
  item: Item,
  query: string,
  of: (query: string, match: WordsCondition['match']) => WordsCondition,
): Filter {
  if ('word' in item) return filterOfWords([item.word], query, 'all', of);
  const { counting, meanings } = item.rule;
  return joinedFilters('or', [
    filterOfWords(counting, query, 'all', of),
    ...meanings.map(({ text, isPhrase }) => of(text, isPhrase ? 'phrase' : 'all')),
  ]);
}
