import { type Analyser, QUERY_TERMS_MAX, type QueryWord } from '../../../shared/base/text/analyser';
import type { PlacedTerm } from '../../../shared/base/text/placed-terms';
import { analyserOf } from '../synonyms/own-stop-words';
import { queryAnalysersOf } from '../synonyms/query-analysers';
import { type CollectionWords, type Synonyms, synonymsOf } from '../synonyms/synonyms';
import type { AnalysisInput, TextAnalysis } from '../service';

/** How a text is cut in a collection. */
export function textAnalysis(collection: CollectionWords, { text, as, field }: AnalysisInput): TextAnalysis {
  const own = field === undefined ? undefined : queryAnalysersOf(collection)?.ofPath(field).name;
  const language = own === undefined ? collection.language : own === 'unicode' ? null : own;
  const analyser = analyserOf({ ...collection, language });
  const { name, version } = analyser;
  const parts = as === 'document' ? analyser.placedParts(text) : soughtParts(analyser, text);
  const synonyms = as === 'query' ? synonymsOf(collection.synonyms, analyser) : undefined;
  return {
    analyser: name,
    version,
    language,
    parts,
    ...(synonyms !== undefined && { synonyms: shown(synonyms, text) }),
  };
}

function shown(synonyms: Synonyms, text: string): NonNullable<TextAnalysis['synonyms']> {
  return synonyms
    .inQuery(text)
    .rules.map(({ start, end, meanings }) => ({ start, end, meanings: meanings.map((meaning) => meaning.text) }));
}

/** The terms of `queryTerms`, or the words of the query, each where it is first; parts may be empty. */
function* soughtParts(analyser: Analyser, text: string): Generator<PlacedTerm[]> {
  if (analyser.queryWords !== undefined) {
    yield* firstOnes(placedWords(analyser.queryWords(text)));
    return;
  }
  let isMeaningful = false;
  for (const part of analyser.placedParts(text)) {
    isMeaningful = part.some(({ isStopWord }) => !isStopWord);
    if (isMeaningful) break;
    yield [];
  }
  yield* firstOnes(analyser.placedParts(text), isMeaningful);
}

function* placedWords(parts: Iterable<QueryWord[]>): Generator<PlacedTerm[]> {
  for (const part of parts)
    yield part.flatMap(({ text: term, start, end, kind }) =>
      kind === 'joint' ? [] : [{ term, start, end, isStopWord: false }],
    );
}

/** Each term where it is first, up to {@link QUERY_TERMS_MAX}. */
function* firstOnes(parts: Iterable<PlacedTerm[]>, hasNoStopWords = false): Generator<PlacedTerm[]> {
  const met = new Set<string>();
  for (const part of parts) {
    const sought: PlacedTerm[] = [];
    for (const placed of part) {
      if ((hasNoStopWords && placed.isStopWord) || met.has(placed.term)) continue;
      met.add(placed.term);
      sought.push(placed);
      if (met.size < QUERY_TERMS_MAX) continue;
      yield sought;
      return;
    }
    yield sought;
  }
}
