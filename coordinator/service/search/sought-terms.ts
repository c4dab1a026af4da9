import { queryTerms } from '../../../shared/base/text/analyser';
import { type Phrase, phraseOf } from '../../../shared/base/text/phrase';
import { bareTerm, markIn } from '../../../shared/base/text/term-mark';
import type { Filter } from '../../../shared/contract/filter/filter';
import type { KeywordQuery } from '../keyword-query';
import { queryTextOf, type SearchRequest, textLegOf } from '../search-request';
import { analyserOf } from '../synonyms/own-stop-words';
import { type QueryAnalyser, queryAnalysersOf } from '../synonyms/query-analysers';
import type { CollectionWords } from '../synonyms/synonyms';
import { bagIn, draftIn } from './collection-draft';
import type { NotedTerms, SoughtTerms } from './text-fragments';

/** What a request marks in the fields of its hits. */
export interface SoughtInFields {
  /** `field`: a path of the metadata, or the text. */
  of(field: string): SoughtTerms;
  /** Gets the terms that words stand for. */
  noted: NotedTerms;
}

/** What a request marks, without the terms that words only stand for; undefined: it marks nothing. */
export function soughtTerms(collection: CollectionWords, { query, output }: SearchRequest): SoughtInFields | undefined {
  if (output.highlight === undefined) return undefined;
  const { source } = query;
  const text = queryTextOf(source) ?? '';
  const leg = source.type === 'fused' ? textLegOf(source.legs)?.of : undefined;
  const keywords = (leg?.type === 'keywords' ? leg.keywords : undefined) ?? bagIn(collection, text);
  const analysers = queryAnalysersOf(collection);
  const analyser = analyserOf(collection);
  if (keywords === undefined) return inAll({ analyser, terms: new Set(queryTerms(analyser, text)), phrases: [] });
  const { terms, phrases } = soughtIn(collection, keywords);
  if (analysers === undefined)
    return inAll({
      analyser,
      terms: new Set(terms),
      phrases: phrases.map(({ text: own, near }) => phraseOf(analyser, own, near)),
    });
  const byMark = new Map<string, SoughtTerms>();
  const soughtOf = (of: QueryAnalyser): SoughtTerms => {
    let sought = byMark.get(of.mark);
    if (sought === undefined) {
      const own = phrases.flatMap((phrase): Phrase[] =>
        phrase.by === ANY || phrase.by === of.name ? [phraseOf(of.analyser, phrase.text, phrase.near)] : [],
      );
      byMark.set(of.mark, (sought = { analyser: of.analyser, terms: new Set(), phrases: own }));
    }
    return sought;
  };
  const noted = {
    add: (term: string): unknown => {
      const of = [...analysers.all, analysers.named(undefined)].find(({ mark }) => mark === markIn(term));
      return of && soughtOf(of).terms.add(bareTerm(term));
    },
  };
  for (const term of terms) noted.add(term);
  return { of: (field) => soughtOf(analysers.ofPath(field)), noted };
}

function inAll(sought: SoughtTerms): SoughtInFields {
  return { of: () => sought, noted: sought.terms };
}

/** By every analyser. */
const ANY = Symbol('any');

/** A phrase that is marked, and by which analyser. */
interface SoughtPhrase {
  text: string;
  near: number;
  by: QueryAnalyser['name'] | typeof ANY;
}

function soughtIn(
  collection: CollectionWords,
  keywords: KeywordQuery,
): { terms: Iterable<string>; phrases: SoughtPhrase[] } {
  const words = keywords.clauses.filter(({ near }) => near === undefined);
  const phrases = keywords.clauses.flatMap(({ occurs, near, text }): SoughtPhrase[] =>
    near === undefined || occurs === 'not' ? [] : [{ text, near, by: ANY }],
  );
  const draft = draftIn(collection, { ...keywords, clauses: words });
  // Without synonyms, all of them are words of the query.
  if (collection.synonyms === undefined) return { terms: draft.terms, phrases };
  const places = draft.units.flatMap(({ terms, meanings = [] }) => [
    ...terms,
    ...meanings.flatMap((meaning) => (isPhrase(meaning) ? [] : meaning.terms)),
  ]);
  for (const { meanings = [] } of draft.units)
    for (const { filter } of meanings)
      if (filter?.type === 'words' && filter.match === 'phrase')
        phrases.push({ text: filter.query, near: filter.near ?? 0, by: filter.analyser });
  return { terms: new Set(places.map((place) => draft.terms[place])), phrases };
}

function isPhrase({ filter }: { filter?: Filter | undefined }): boolean {
  return filter !== undefined && !(filter.type === 'words' && filter.match !== 'phrase');
}
