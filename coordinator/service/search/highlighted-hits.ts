import { inTime } from '../../../shared/base/time/deadline';
import { inSlices, ownTurn } from '../../../shared/base/time/work-slices';
import type { JsonObject, JsonValue } from '../../../shared/contract/filter/filter';
import { lookUpPath } from '../../../shared/contract/filter/metadata-path';
import { TEXT_FIELD } from '../../../shared/contract/shard/keyword-fields';
import type { Metric } from '../../../shared/contract/vector/metric';
import type { Highlighting, SearchRequest } from '../search-request';
import type { FoundHits, Highlight, LaterContents, ScoredHit } from '../service';
import type { HighlightBudget } from './later-hits';
import { nearestOf, passagesOf, type SentencePlace, unitsLookedAt } from './nearest-passage';
import type { SoughtInFields } from './sought-terms';
import { type TextFragment, textFragments } from './text-fragments';

/** The request by which hits are read: with the texts that are marked. */
export function readFor(request: SearchRequest): SearchRequest {
  const { output } = request;
  if (output.texts || output.highlight?.fields.includes(TEXT_FIELD) !== true) return request;
  return { ...request, output: { ...output, texts: true } };
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
export const NEAREST_SENTENCES_MAX = 256;
export const HIT_SENTENCES_MAX = 32;
/** An answer does not wait longer for them; hits behind that have no highlights. */
const NEAREST_WAIT_MS = 5_000;

/** Finds the sentences of hits that are nearest to what was searched for. */
export interface NearestSentences {
  vector: Float32Array;
  metric: Metric;
  embed: (texts: string[]) => Promise<readonly Float32Array[]>;
}

/** What is marked, and how. */
interface Marking extends Highlighting {
  sought: SoughtInFields;
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
    const { nearest } = this.marking;
    const pages = this.later === undefined ? [hits] : this.later.pagesOf(hits);
    for await (const page of pages) {
      if (nearest !== undefined) yield* this.marked(page, nearest);
      else for (const hit of page) yield* this.marked([hit], undefined);
    }
  }

  /** One hit after the other, with its highlights; those of all hits are made before the first. */
  private async *marked(
    page: readonly ScoredHit[],
    nearest: NearestSentences | undefined,
  ): AsyncGenerator<ScoredHit[]> {
    const { texts } = this.marking;
    const marked: (Highlight[] | null)[] = [];
    for (const { text, metadata } of page) {
      const turn = ownTurn();
      if (turn !== undefined) await turn;
      marked.push(await inSlices(this.highlights(text ?? '', metadata)));
    }
    if (nearest !== undefined) await this.addNearest(page, marked, nearest);
    for (const [i, { text, ...hit }] of page.entries()) {
      const highlights = marked[i];
      yield [{ ...hit, ...(highlights !== null && { highlights }), ...(texts && text !== undefined && { text }) }];
    }
  }

  /** null: there is no budget for all of its texts. */
  private *highlights(text: string, metadataJson: string): Generator<undefined, Highlight[] | null> {
    const { fields, fragments: count, size, sought, budget } = this.marking;
    const highlights: Highlight[] = [];
    let metadata: JsonObject | null = null;
    for (const field of fields) {
      const own = sought.of(field);
      if (own.terms.size === 0 && own.phrases.length === 0) continue;
      const isText = field === TEXT_FIELD;
      metadata ??= isText ? null : (JSON.parse(metadataJson) as JsonObject);
      const found: { fragment: TextFragment; index: number | null; of: string }[] = [];
      for (const { of, index } of isText ? [{ of: text, index: null }] : textsAt(metadata as JsonObject, field)) {
        if (budget.unitsLeft < of.length) {
          budget.unitsLeft = 0;
          return null;
        }
        budget.unitsLeft -= of.length;
        for (const fragment of yield* textFragments(of, own, { count, size })) found.push({ fragment, index, of });
      }
      found.sort((a, b) => b.fragment.distinct - a.fragment.distinct);
      for (const { fragment, index, of } of found.slice(0, count)) {
        const { start, spans } = fragment;
        highlights.push({ field, index, start, spans, text: this.withMarks(of, fragment) });
      }
    }
    return highlights;
  }

  /**
   * Gives hits without words the sentence that is nearest, of all fields together; null where there is no budget for
   * it. All of a page are embedded at once. Where that fails, they have none: what was found is worth more.
   */
  private async addNearest(
    page: readonly ScoredHit[],
    marked: (Highlight[] | null)[],
    { embed, vector, metric }: NearestSentences,
  ): Promise<void> {
    const { budget } = this.marking;
    const wanted: { hit: number; sentences: Sentence[] }[] = [];
    for (const [hit, { text = '', metadata }] of page.entries()) {
      if (marked[hit]?.length !== 0) continue;
      const sentences = await inSlices(this.sentencesOf(text, metadata));
      if (sentences === null) marked[hit] = null;
      else if (sentences.length > 0) wanted.push({ hit, sentences });
    }
    if (wanted.length === 0) return;
    const shown = wanted.flatMap(({ sentences }) => sentences.map((sentence) => shownOf(sentence)));
    const leftMs = (budget.untilMs ?? 0) - performance.now();
    const vectors = await inTime(embed(shown), leftMs, () => new Error('too late')).catch(() => null);
    if (vectors === null) budget.sentencesLeft = 0;
    let at = 0;
    for (const { hit, sentences } of wanted) {
      const place = vectors === null ? -1 : nearestOf(vectors.slice(at, (at += sentences.length)), vector, metric);
      if (place < 0) marked[hit] = null;
      else {
        const { field, index, passage } = sentences[place];
        marked[hit] = [{ field, index, start: passage.start, spans: [], text: shownOf(sentences[place]) }];
      }
    }
  }

  /** The first sentences of a hit, field by field; null: there is no budget for them. */
  private *sentencesOf(text: string, metadataJson: string): Generator<undefined, Sentence[] | null> {
    const { fields, size, budget } = this.marking;
    const found: Sentence[] = [];
    let metadata: JsonObject | null = null;
    for (const field of fields) {
      const isText = field === TEXT_FIELD;
      metadata ??= isText ? null : (JSON.parse(metadataJson) as JsonObject);
      for (const { of, index } of isText ? [{ of: text, index: null }] : textsAt(metadata as JsonObject, field)) {
        if (found.length === HIT_SENTENCES_MAX) break;
        const units = unitsLookedAt(of);
        if (budget.unitsLeft < units) {
          budget.unitsLeft = 0;
          return null;
        }
        budget.unitsLeft -= units;
        for (const passage of passagesOf(of, size, HIT_SENTENCES_MAX - found.length))
          found.push({ field, index, of, passage });
        yield;
      }
    }
    if (budget.sentencesLeft < found.length) {
      budget.sentencesLeft = 0;
      return null;
    }
    budget.sentencesLeft -= found.length;
    budget.untilMs ??= performance.now() + NEAREST_WAIT_MS;
    return found;
  }

  private withMarks(text: string, { start, end, spans }: TextFragment): string {
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

/** A sentence of a field. */
interface Sentence {
  field: string;
  index: number | null;
  of: string;
  passage: SentencePlace;
}

function shownOf({ of, passage: { start, end } }: Sentence): string {
  return of.slice(start, end);
}

/** The text under a path of metadata, or those of a list with their places. */
function textsAt(metadata: JsonObject, path: string): { of: string; index: number | null }[] {
  const value: JsonValue | undefined = lookUpPath(metadata, path);
  if (typeof value === 'string') return [{ of: value, index: null }];
  if (!Array.isArray(value)) return [];
  return value.flatMap((of, index) => (typeof of === 'string' ? [{ of, index }] : []));
}
