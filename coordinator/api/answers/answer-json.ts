import { cutAt } from '../../service/character-cut';
import { chosenMetadata } from '../../../shared/contract/filter/chosen-metadata';
import type { Output } from '../../service/search-request';
import type {
  FoundGroup,
  FoundHits,
  FoundList,
  LegPlace,
  LaterContents,
  RerankedFacts,
  ScoredHit,
  SearchTiming,
  VectorView,
  WriteTiming,
} from '../../service/service';
import { hitsFromBytes } from '../../../shared/wire/codecs/hit-codec';
import { ownTurn } from '../../../shared/base/time/work-slices';
import { takenFrom } from '../../service/pages';
import type { HitsAnswer } from '../endpoints/endpoint';
import type { VectorFormat } from '../body/vector-format';

/**
 * Answers as JSON text, built by hand where answers are large or frequent. Metadata are JSON text already and are
 * inserted unchanged.
 */

/**
 * A score as a JSON number. Infinite scores (dot products of huge vectors) become the largest double; NaN becomes 0.
 */
export function scoreJson(score: number): string {
  if (Number.isFinite(score)) return String(score);
  return Number.isNaN(score) ? '0' : String(Math.sign(score) * Number.MAX_VALUE);
}

/**
 * About how many characters a piece of a long answer has: making one takes far less than a millisecond. Small answers
 * are one piece.
 */
const PIECE_CHARACTERS = 16 * 1024;

/** A JSON array in pieces, each made when it is taken: `head`, the elements by `elementJson` in brackets, `tail`. */
export function* listPieces<Element>(
  head: string,
  elements: readonly Element[],
  elementJson: (element: Element, index: number) => string,
  tail: string,
): Generator<string> {
  let piece = `${head}[`;
  for (let i = 0; i < elements.length; i++) {
    piece += i === 0 ? elementJson(elements[i], i) : `,${elementJson(elements[i], i)}`;
    if (piece.length < PIECE_CHARACTERS) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}]${tail}`;
}

/**
 * The same of elements that come in pages, which are emptied; the next is asked for when the text of the last was
 * taken. It is no generator, because that would keep its last piece until the next is asked for.
 */
export function pagedPieces<Element>(
  head: string,
  pages: AsyncIterable<Element[]>,
  elementJson: (element: Element) => string,
  tail: () => string,
): AsyncIterable<string> {
  return {
    [Symbol.asyncIterator]: () => new PagedPieces(`${head}[`, pages[Symbol.asyncIterator](), elementJson, tail),
  };
}

class PagedPieces<Element> implements AsyncIterator<string> {
  private page: Element[] = [];
  private at = 0;
  private isFirst = true;
  private isEnded = false;

  constructor(
    private piece: string,
    private readonly pages: AsyncIterator<Element[]>,
    private readonly elementJson: (element: Element) => string,
    private readonly tail: () => string,
  ) {}

  async next(): Promise<IteratorResult<string, undefined>> {
    if (this.isEnded) return { done: true, value: undefined };
    while (this.piece.length < PIECE_CHARACTERS) {
      if (this.at === this.page.length) {
        if (await this.isLastPage()) return this.last();
        continue;
      }
      const turn = ownTurn();
      if (turn !== undefined) await turn;
      this.addElement();
    }
    return this.given();
  }

  async return(): Promise<IteratorResult<string, undefined>> {
    this.isEnded = true;
    this.page = [];
    await this.pages.return?.();
    return { done: true, value: undefined };
  }

  private addElement(): void {
    const json = this.elementJson(takenFrom(this.page, this.at));
    this.at += 1;
    this.piece += this.isFirst ? json : `,${json}`;
    this.isFirst = false;
  }

  /** Takes the next page. */
  private isLastPage(): Promise<boolean> {
    return this.pages.next().then(({ done, value }) => {
      this.page = done === true ? [] : value;
      this.at = 0;
      return done === true;
    });
  }

  private given(): IteratorResult<string, undefined> {
    const value = this.piece;
    this.piece = '';
    return { done: false, value };
  }

  private last(): IteratorResult<string, undefined> {
    this.isEnded = true;
    this.piece += `]${this.tail()}`;
    return this.given();
  }
}

/** An array of hits, in pieces. What was left out of them is read meanwhile. */
export function foundPieces(
  head: string,
  { hits, later }: FoundHits,
  writer: HitWriter,
  tail: string,
): Iterable<string> | AsyncIterable<string> {
  if (later === undefined && !writer.takesTurns) return listPieces(head, hits, writer.json, tail);
  return pagedPieces(head, later === undefined ? onePage(hits) : later.pagesOf(hits), writer.json, () => tail);
}

async function* onePage<Element>(elements: readonly Element[]): AsyncGenerator<Element[]> {
  yield [...elements];
}

/** The same text as of the bytes. */
export function hitsPieces({
  before,
  hits,
  behind,
}: Pick<HitsAnswer, 'before' | 'hits' | 'behind'>): Generator<string> {
  return listPieces(before, hitsFromBytes(hits), hitJson, behind);
}

/** An array of lists of hits, in pieces; `writers`: of the hits of each list. */
export function hitListsPieces(
  head: string,
  lists: readonly FoundHits[],
  writers: readonly HitWriter[],
  tail: string,
): Iterable<string> | AsyncIterable<string> {
  return lists.some(({ later }, i) => later !== undefined || writers[i].takesTurns)
    ? laterListsPieces(head, lists, writers, tail)
    : wholeListsPieces(head, lists, writers, tail);
}

function* wholeListsPieces(
  head: string,
  lists: readonly FoundHits[],
  writers: readonly HitWriter[],
  tail: string,
): Generator<string> {
  if (lists.length === 0) yield `${head}[]${tail}`;
  for (let i = 0; i < lists.length; i++)
    yield* listPieces(headOfList(head, i), lists[i].hits, writers[i].json, tailOfList(tail, i, lists.length));
}

async function* laterListsPieces(
  head: string,
  lists: readonly FoundHits[],
  writers: readonly HitWriter[],
  tail: string,
): AsyncGenerator<string> {
  for (let i = 0; i < lists.length; i++)
    yield* foundPieces(headOfList(head, i), lists[i], writers[i], tailOfList(tail, i, lists.length));
}

function headOfList(head: string, i: number): string {
  return i === 0 ? `${head}[` : ',';
}

function tailOfList(tail: string, i: number, count: number): string {
  return i === count - 1 ? `]${tail}` : '';
}

/**
 * An array of groups, in pieces. What was left out of their hits is read meanwhile; a group of which no hit is left by
 * then is left out.
 */
export function groupsPieces(
  head: string,
  groups: readonly FoundGroup[],
  later: FoundHits['later'],
  writer: HitWriter,
  tail: string,
): Iterable<string> | AsyncIterable<string> {
  const json = ({ hit, group, opens, closes }: GroupedHit): string => {
    const open = `{"key":${JSON.stringify(group.key)},"score":${scoreJson(group.hits[0].score)},"hits":[`;
    return `${opens ? open : ''}${writer.json(hit)}${closes ? ']}' : ''}`;
  };
  const hits = groups.flatMap((group) => group.hits.map((hit) => ({ hit, group })));
  if (later === undefined && !writer.takesTurns) return listPieces(head, withEnds(hits), json, tail);
  return pagedPieces(head, later === undefined ? onePage(withEnds(hits)) : laterPages(hits, later), json, () => tail);
}

/** A hit, and whether it is the first and the last of its group. */
interface GroupedHit {
  hit: ScoredHit;
  group: FoundGroup;
  opens: boolean;
  closes: boolean;
}

function withEnds(hits: readonly Pick<GroupedHit, 'hit' | 'group'>[]): GroupedHit[] {
  return hits.map((one, i) => ({
    ...one,
    opens: hits[i - 1]?.group !== one.group,
    closes: hits[i + 1]?.group !== one.group,
  }));
}

/** The hits as they are completed, but for those that are gone; one waits until the next is known. */
async function* laterPages(
  hits: readonly Pick<GroupedHit, 'hit' | 'group'>[],
  later: LaterContents,
): AsyncGenerator<GroupedHit[]> {
  let place = 0;
  let last = null as GroupedHit | null;
  for await (const page of later.pagesOf(hits.map(({ hit }) => hit))) {
    const known: GroupedHit[] = [];
    for (const hit of page) {
      while (hits[place].hit.externalId !== hit.externalId) place += 1;
      const { group } = hits[place++];
      const opens: boolean = last?.group !== group;
      if (last !== null) known.push({ ...last, closes: opens });
      last = { hit, group, opens, closes: true };
    }
    if (known.length > 0) yield known;
  }
  if (last !== null) yield [last];
}

/** As {@link hitListsPieces}, of lists some of which are groups: these come behind all hits, and have no hits there. */
export async function* groupListsPieces(
  head: string,
  lists: readonly FoundList[],
  writers: readonly HitWriter[],
  tail: string,
): AsyncGenerator<string> {
  const plain = lists.map((list): FoundHits => (list.groups === undefined ? list : { hits: [] }));
  yield* hitListsPieces(head, plain, writers, ',"groups":[');
  for (const [i, { groups, later }] of lists.entries()) {
    const comma = i === 0 ? '' : ',';
    if (groups === undefined) yield `${comma}null`;
    else yield* groupsPieces(comma, groups, later, writers[i], '');
  }
  yield `]${tail}`;
}

/** How hits are written. */
export interface HitWriter {
  json: (hit: ScoredHit) => string;
  /** Whether writing one may take so long that others have their turns in between. */
  takesTurns: boolean;
}

/** Writes hits with what an answer is to have of them; `whole`: a hit with all that it has. */
export function hitWriter(
  { fields, textMax }: Pick<Output, 'fields' | 'textMax'>,
  whole: HitWriter['json'] = hitJson,
): HitWriter {
  if (fields === undefined && textMax === undefined) return { json: whole, takesTurns: false };
  return {
    json: (hit) => {
      const metadata = fields === undefined ? hit.metadata : chosenMetadata(hit.metadata, fields);
      return whole({ ...hit, metadata, ...(hit.text !== undefined && { text: cutText(hit.text, textMax) }) });
    },
    takesTurns: fields !== undefined && fields.length > 0,
  };
}

/** No character is divided. */
function cutText(text: string, unitsMax = Infinity): string {
  return text.length <= unitsMax ? text : text.slice(0, cutAt(text, unitsMax));
}

export function hitJson(hit: ScoredHit): string {
  const { externalId, score, metadata, text, highlights, context } = hit;
  const textMember = text === undefined ? '' : `,"text":${JSON.stringify(text)}`;
  const more = explanationMembers(hit);
  return `{"external_id":${JSON.stringify(externalId)},"score":${scoreJson(score)},"metadata":${metadata}${textMember}${versionMember(hit.version)}${firstMembers(hit)}${more}${highlightsMember(highlights)}${contextMember(context)}}`;
}

/** What the hit was before it was reranked, with a comma before each member; empty if it was not. */
function firstMembers({ first }: ScoredHit): string {
  return first === undefined ? '' : `,"first_score":${scoreJson(first.score)},"first_rank":${first.rank}`;
}

/** The `rerank` member with a comma before it; empty if nothing was reranked. */
export function rerankMember(facts: RerankedFacts | undefined): string {
  return facts === undefined ? '' : `,"rerank":${JSON.stringify(facts)}`;
}

/** The `highlights` member with a comma before it; empty if none were asked for. */
function highlightsMember(highlights: ScoredHit['highlights']): string {
  if (highlights === undefined) return '';
  const shown = highlights.map(({ field, index, text, start, spans }) => ({
    field,
    ...(index !== null && { index }),
    text,
    start,
    spans,
  }));
  return `,"highlights":${JSON.stringify(shown)}`;
}

/** The `context` member with a comma before it; empty if none was asked for. */
function contextMember(context: ScoredHit['context']): string {
  if (context === undefined) return '';
  if (context === null) return ',"context":null';
  const { text, fromChunk, toChunk } = context;
  return `,"context":{"text":${JSON.stringify(text)},"from_chunk":${fromChunk},"to_chunk":${toChunk}}`;
}

/** How a hit came to its place, with a comma before each member; empty if that was not asked for. */
function explanationMembers({ explanation, choice, boosts }: ScoredHit): string {
  const boosted = boosts === undefined ? '' : `,"boosts":${JSON.stringify(boosts)}`;
  const chosen =
    choice === undefined
      ? boosted
      : `${boosted},"${choice.isReranked === true ? 'reranked_rank' : 'first_rank'}":${choice.firstRank},"diversity_score":${scoreJson(choice.score)}`;
  if (explanation === undefined) return chosen;
  const isByPlace = explanation.some(({ name }) => name === undefined);
  if (isByPlace)
    return `${chosen},"legs":[${explanation.map((place) => `{${rankMembers(place)},${partMember(place)}}`).join(',')}]`;
  const of = ({ name }: LegPlace): string => `${name}_`;
  const ranks = explanation.map((place) => rankMembers(place, of(place)));
  return `${chosen},${[...ranks, ...explanation.map((place) => partMember(place, of(place)))].join(',')}`;
}

/** `before`: what their names begin with. */
function rankMembers({ rank, score }: LegPlace, before = ''): string {
  return `"${before}rank":${rank},"${before}score":${score === null ? 'null' : scoreJson(score)}`;
}

function partMember({ part }: LegPlace, before = ''): string {
  return `"${before}part":${scoreJson(part)}`;
}

/** A hit as the query endpoint answers it: its text first, if it has one. */
export function textHitJson(hit: ScoredHit): string {
  const { externalId, score, metadata, text, highlights, context } = hit;
  const textMember = text === undefined ? '' : `"text":${JSON.stringify(text)},`;
  return `{${textMember}"score":${scoreJson(score)},"metadata":${metadata},"external_id":${JSON.stringify(externalId)}${versionMember(hit.version)}${firstMembers(hit)}${explanationMembers(hit)}${highlightsMember(highlights)}${contextMember(context)}}`;
}

/** One stored vector; has a member `vector` if the view has it. */
export function vectorJson(view: VectorView, format: VectorFormat): string {
  const vector = view.vector === undefined ? '' : `"vector":${format(view.vector)},`;
  return `{"external_id":${JSON.stringify(view.externalId)},${vector}"metadata":${view.metadata},"text":${JSON.stringify(view.text)}${expiryMember(view.expiresAt)}${versionMember(view.version)}}`;
}

/** One exported vector, without text. */
export function exportedVectorJson(view: VectorView, format: VectorFormat): string {
  const vector = view.vector === undefined ? '[]' : format(view.vector);
  return `{"external_id":${JSON.stringify(view.externalId)},"vector":${vector},"metadata":${view.metadata}${expiryMember(view.expiresAt)}${versionMember(view.version)}}`;
}

/** The `expires_at` member with a comma before it; empty if there is none. */
function expiryMember(atMs: number | undefined): string {
  return atMs === undefined ? '' : `,"expires_at":"${new Date(atMs).toISOString()}"`;
}

/** The `version` member with a comma before it; empty if there is none. */
export function versionMember(version: number | null | undefined): string {
  return version === undefined || version === null ? '' : `,"version":${version}`;
}

/** The `timing_ms` member with a comma before it; empty if it was not requested. */
export function timingMember(timing: SearchTiming | WriteTiming, isWanted: boolean): string {
  if (!isWanted) return '';
  const middle = 'searchMs' in timing ? `"search_ms":${timing.searchMs}` : `"storage_ms":${timing.storageMs}`;
  return `,"timing_ms":{"embedding_ms":${timing.embeddingMs},${middle},"total_ms":${timing.totalMs}}`;
}
