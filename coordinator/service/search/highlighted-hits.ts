import { queryTerms } from '../../../shared/base/text/analyser';
import { phraseOf } from '../../../shared/base/text/phrase';
import { inSlices, ownTurn } from '../../../shared/base/time/work-slices';
import type { JsonObject, JsonValue } from '../../../shared/contract/filter/filter';
import { lookUpPath } from '../../../shared/contract/filter/metadata-path';
import type { Metric } from '../../../shared/contract/vector/metric';
import { type Highlighting, queryTextOf, type SearchRequest } from '../search-request';
import type { FoundHits, Highlight, LaterContents, ScoredHit } from '../service';
import { keywordDraft } from './keyword-planning';
import type { HighlightBudget } from './later-hits';
import { nearestOf, passagesOf, type SentencePlace } from './nearest-passage';
import { bagOfWords, wholeBag } from './query-words';
import { analyserOf } from '../synonyms/own-stop-words';
import { type CollectionWords, synonymsOf } from '../synonyms/synonyms';
import { type SoughtTerms, type TextFragment, textFragments } from './text-fragments';

/** The field that means an item's text. */
const TEXT_FIELD = 'text';

/** The request by which hits are read: with the texts that are marked. */
export function readFor(request: SearchRequest): SearchRequest {
  const { output } = request;
  if (output.texts || output.highlight?.fields.includes(TEXT_FIELD) !== true) return request;
  return { ...request, output: { ...output, texts: true } };
}

/** What a request marks, without the terms that words only stand for; undefined: it marks nothing. */
export function soughtTerms(collection: CollectionWords, { query, output }: SearchRequest): SoughtTerms | undefined {
  if (output.highlight === undefined) return undefined;
  const analyser = analyserOf(collection);
  const { source } = query;
  const text = queryTextOf(source) ?? '';
  const synonyms = synonymsOf(collection.synonyms, analyser);
  const given = source.type === 'fused' ? source.keywords : undefined;
  const keywords = given ?? (synonyms === undefined ? bagOfWords(analyser, text) : wholeBag(text));
  if (keywords === undefined) return { analyser, terms: new Set(queryTerms(analyser, text)), phrases: [] };
  const { clauses } = keywords;
  const words = clauses.filter(({ near }) => near === undefined);
  const phrases = clauses.flatMap(({ occurs, near, text: phrase }) =>
    near === undefined || occurs === 'not' ? [] : [phraseOf(analyser, phrase, near)],
  );
  const draft = keywordDraft({ ...keywords, clauses: words }, analyser, synonyms);
  if (synonyms === undefined) return { analyser, terms: new Set(draft.terms), phrases };
  const places = draft.units.flatMap(({ terms, meanings = [] }) => [
    ...terms,
    ...meanings.flatMap((meaning) => (meaning.filter === undefined ? meaning.terms : [])),
  ]);
  for (const { meanings = [] } of draft.units)
    for (const { filter } of meanings) if (filter?.type === 'words') phrases.push(phraseOf(analyser, filter.query, 0));
  return { analyser, terms: new Set(places.map((place) => draft.terms[place])), phrases };
}

/**
 * UTF-16 code units of texts that the highlights of one answer look at: some hundred milliseconds of a processor. Hits
 * behind them have none.
 */
export const HIGHLIGHTED_UNITS_MAX = 2 ** 21;
/**
 * Sentences that are embedded for the highlights of one answer, and for one hit. A model takes some milliseconds for
 * each. Hits behind them have no highlights.
 */
export const NEAREST_SENTENCES_MAX = 512;
export const HIT_SENTENCES_MAX = 32;

/** Finds the sentence of a hit that is nearest to what was searched for. */
export interface NearestSentences {
  vector: Float32Array;
  metric: Metric;
  embed: (texts: string[]) => Promise<readonly Float32Array[]>;
}

/** What is marked, and how. */
interface Marking extends Highlighting {
  sought: SoughtTerms;
  /** For hits without such words; undefined: they have no highlights. */
  nearest: NearestSentences | undefined;
  /** Whether the hits keep the texts that they were read with. */
  texts: boolean;
  budget: HighlightBudget;
}

/** The hits with what was found in their fields, made when they are taken, as far as the budget goes. */
export function highlightedHits<Found extends FoundHits>(found: Found, marking: Marking): Found {
  return { ...found, later: new HighlightedHits(found.later, marking) };
}

class HighlightedHits implements LaterContents {
  constructor(
    private readonly later: LaterContents | undefined,
    private readonly marking: Marking,
  ) {}

  async *pagesOf(hits: readonly ScoredHit[]): AsyncGenerator<ScoredHit[]> {
    const { texts } = this.marking;
    const pages = this.later === undefined ? [hits] : this.later.pagesOf(hits);
    for await (const page of pages) {
      for (const { text, ...hit } of page) {
        const turn = ownTurn();
        if (turn !== undefined) await turn;
        const marked = await inSlices(this.highlights(text ?? '', hit.metadata));
        const highlights = marked?.length === 0 ? await this.nearest(text ?? '', hit.metadata) : marked;
        yield [{ ...hit, ...(highlights !== null && { highlights }), ...(texts && text !== undefined && { text }) }];
      }
    }
  }

  /** null: there is no budget for all of its texts. */
  private *highlights(text: string, metadataJson: string): Generator<undefined, Highlight[] | null> {
    const { fields, fragments: count, size, sought, budget } = this.marking;
    const highlights: Highlight[] = [];
    if (sought.terms.size === 0 && sought.phrases.length === 0) return highlights;
    let metadata: JsonObject | null = null;
    for (const field of fields) {
      const isText = field === TEXT_FIELD;
      metadata ??= isText ? null : (JSON.parse(metadataJson) as JsonObject);
      const found: { fragment: TextFragment; index: number | null; of: string }[] = [];
      for (const { of, index } of isText ? [{ of: text, index: null }] : textsAt(metadata as JsonObject, field)) {
        if (budget.unitsLeft < of.length) {
          budget.unitsLeft = 0;
          return null;
        }
        budget.unitsLeft -= of.length;
        for (const fragment of yield* textFragments(of, sought, { count, size })) found.push({ fragment, index, of });
      }
      found.sort((a, b) => b.fragment.distinct - a.fragment.distinct);
      for (const { fragment, index, of } of found.slice(0, count)) {
        const { start, spans } = fragment;
        highlights.push({ field, index, start, spans, text: this.marked(of, fragment) });
      }
    }
    return highlights;
  }

  /** The sentence that is nearest, of all fields together; none without texts. null: there is no budget for it. */
  private async nearest(text: string, metadataJson: string): Promise<Highlight[] | null> {
    const { fields, size, nearest, budget } = this.marking;
    if (nearest === undefined) return [];
    const sentences = await inSlices(sentencesOf(fields, size, { text, metadataJson }));
    if (sentences.length === 0) return [];
    if (budget.sentencesLeft < sentences.length) {
      budget.sentencesLeft = 0;
      return null;
    }
    budget.sentencesLeft -= sentences.length;
    const shown = sentences.map(({ of, passage: { start, end } }) => of.slice(start, end));
    const place = nearestOf(await nearest.embed(shown), nearest.vector, nearest.metric);
    if (place < 0) return [];
    const { field, index, passage } = sentences[place];
    return [{ field, index, start: passage.start, spans: [], text: shown[place] }];
  }

  private marked(text: string, { start, end, spans }: TextFragment): string {
    const { pre, post } = this.marking;
    if (pre === '' && post === '') return text.slice(start, end);
    let marked = '';
    let at = start;
    for (const [first, behind] of spans) {
      marked += `${text.slice(at, first)}${pre}${text.slice(first, behind)}${post}`;
      at = behind;
    }
    return marked + text.slice(at, end);
  }
}

/** The first sentences of fields, field by field. */
function* sentencesOf(
  fields: readonly string[],
  size: number,
  { text, metadataJson }: { text: string; metadataJson: string },
): Generator<undefined, { field: string; index: number | null; of: string; passage: SentencePlace }[]> {
  const found: { field: string; index: number | null; of: string; passage: SentencePlace }[] = [];
  for (const field of fields) {
    const texts =
      field === TEXT_FIELD ? [{ of: text, index: null }] : textsAt(JSON.parse(metadataJson) as JsonObject, field);
    for (const { of, index } of texts) {
      for (const passage of passagesOf(of, size)) {
        if (found.length === HIT_SENTENCES_MAX) return found;
        found.push({ field, index, of, passage });
      }
      yield;
    }
  }
  return found;
}

/** The text under a path of metadata, or those of a list with their places. */
function textsAt(metadata: JsonObject, path: string): { of: string; index: number | null }[] {
  const value: JsonValue | undefined = lookUpPath(metadata, path);
  if (typeof value === 'string') return [{ of: value, index: null }];
  if (!Array.isArray(value)) return [];
  return value.flatMap((of, index) => (typeof of === 'string' ? [{ of, index }] : []));
}
