import { compareHits, type Hit, hitsDownTo, type HitPlace } from '../../../shared/contract/shard/shard-read';
import { finiteScore } from '../../../shared/contract/vector/metric';
import type { Fusing, LegName } from '../search-request';
import type { LegPlace, ScoredHit } from '../service';
import { type PartStart, SLACK } from './chained-page';
import { BY_RANKS, fusionDepth } from './fusion';
import { KeyDigests } from './key-digests';
import { countFromJson, digestsFromJson, notOne, placeFromJson, placeToJson } from './search-chain';

/** Hits of a page at most: a cursor holds digests of half of a block's items. */
export const FUSED_PAGE_MAX = 1_000;

/** A list that is fused, which can be read in parts. */
export interface PartLeg {
  name?: LegName | undefined;
  weight: number;
  /** Of the part, best first and none that is left out; with `ids`, of these items alone. */
  read: (start: PartStart, k: number, ids: readonly string[] | null) => Promise<LegHits>;
}

interface LegHits {
  hits: Hit[];
  /** Whether they are not of all items, but of those alone that boosts could be looked up for (`boostDepth`). */
  isBounded: boolean;
}

/** Items of bounded lists of which a cursor has digests: eleven characters each. */
const BOUNDED_ITEMS_MAX = 16_384;

/** What a block has of one list. */
interface BlockLeg {
  /** The block's hits come behind it; null: the list begins with them. */
  start: HitPlace | null;
  /** How many places come before. */
  passed: number;
  /** The last of them; null: they go to the end of the list. */
  end: HitPlace | null;
  /** Whether all of the list was in blocks before. */
  isOver: boolean;
  /** null: so far, all items that come before `start` in the list were in blocks. */
  bounded: BoundedLeg | null;
}

/** Of a list that is not that of all items any more: the place of an item does not tell whether it was in a block. */
interface BoundedLeg {
  /** Up to there it was that of all items; null: it never was. */
  wholeTo: HitPlace | null;
  /** Of the items that were in blocks behind it. */
  given: KeyDigests;
}

/** The next hits of all lists, of which some were given. */
interface Block {
  /** How many hits of each list. */
  depth: number;
  legs: readonly BlockLeg[];
  /** Whether the ends are known: the block was read before. */
  isFixed: boolean;
  /** Of items that were given; or, with `areLeft`, of those that were not. */
  digests: KeyDigests;
  areLeft: boolean;
}

interface FusionPage {
  k: number;
  fusing: Fusing | undefined;
  explain: boolean;
  /** Of hits, best first, those that score enough. */
  enough: (hits: ScoredHit[]) => ScoredHit[];
}

/**
 * A page of a fused list. Ranks would move if items vanished from lists, so these are fused in blocks: the first hits
 * of each, as many as a search is fused of, then as many behind these. Where a block ends in each list is in the
 * cursor, with digests of the items that were given of it. An item belongs to the first block that has it in any list.
 */
export async function chainedFusion(
  legs: readonly PartLeg[],
  page: FusionPage,
  state: readonly unknown[],
): Promise<{ hits: ScoredHit[]; next: readonly unknown[] | null }> {
  let block = state.length === 0 ? firstBlock(legs, fusionDepth(page.k)) : blockFromJson(state, legs.length);
  const hits: ScoredHit[] = [];
  for (;;) {
    const read = await listsOf(legs, block);
    block = fixedBy(block, read);
    const lists = read.map(({ hits: some }) => some);
    const items = fused(legs, block, lists, await earlierOf(legs, block, lists), page);
    const { digests, areLeft } = block;
    const left = items.filter(({ externalId }) => digests.has(externalId) === areLeft);
    const given = left.slice(0, page.k - hits.length);
    hits.push(...given);
    if (given.length < left.length)
      return { hits, next: blockToJson(withGiven(block, items, left.slice(given.length))) };
    const next = behind(block, lists);
    if (next === null) return { hits, next: null };
    block = next;
  }
}

/**
 * The first `page.k` hits of a fused list; or, with the state of another page, those of them that this one left.
 * `next`: the state of a page that finds these of them.
 */
export async function firstFused(
  legs: readonly PartLeg[],
  page: FusionPage,
  state: readonly unknown[],
): Promise<{ hits: ScoredHit[]; next: (left: readonly ScoredHit[]) => readonly unknown[] }> {
  const begun = state.length === 0 ? firstBlock(legs, fusionDepth(page.k)) : blockFromJson(state, legs.length);
  const read = await listsOf(legs, begun);
  const block = fixedBy(begun, read);
  const lists = read.map(({ hits }) => hits);
  const items = fused(legs, block, lists, new Set(), page);
  const isLeft = ({ externalId }: ScoredHit): boolean => block.digests.has(externalId) === block.areLeft;
  return {
    hits: state.length === 0 ? items.slice(0, page.k) : items.filter(isLeft),
    next: (left) =>
      blockToJson({
        ...block,
        areLeft: true,
        digests: KeyDigests.NONE.with(left.map(({ externalId }) => externalId)),
      }),
  };
}

function firstBlock(legs: readonly PartLeg[], depth: number): Block {
  return {
    depth,
    legs: legs.map(() => ({ start: null, passed: 0, end: null, isOver: false, bounded: null })),
    isFixed: false,
    digests: KeyDigests.NONE,
    areLeft: false,
  };
}

/** The block's hits in each list. */
function listsOf(legs: readonly PartLeg[], { depth, legs: parts, isFixed }: Block): Promise<LegHits[]> {
  return Promise.all(
    parts.map(async ({ start, passed, end, isOver }, i) => {
      if (isOver) return { hits: [], isBounded: false };
      const from = { after: start, passed };
      if (!isFixed) return legs[i].read(from, depth + 1, null);
      for (let k = depth + SLACK; ; k *= 2) {
        const { hits, isBounded } = await legs[i].read(from, k, null);
        const within = hitsDownTo(hits, end);
        if (hits.length < k || within.length < hits.length) return { hits: within, isBounded };
      }
    }),
  );
}

/** With its ends, where these were not known; lists that went on behind it are cut. */
function fixedBy(block: Block, lists: readonly LegHits[]): Block {
  const legs = block.legs.map((one, i): BlockLeg => {
    const { hits, isBounded } = lists[i];
    const bounded = one.bounded ?? (isBounded ? { wholeTo: one.start, given: KeyDigests.NONE } : null);
    const leg = { ...one, bounded };
    if (block.isFixed || hits.length <= block.depth) return leg;
    hits.length = block.depth;
    return { ...leg, end: hits[block.depth - 1] };
  });
  return { ...block, legs, isFixed: true };
}

/** The items that a block before had in another list. */
async function earlierOf(legs: readonly PartLeg[], block: Block, lists: Hit[][]): Promise<Set<string>> {
  const ids = [...new Set(lists.flatMap((hits) => hits.map(({ externalId }) => externalId)))];
  const earlier = new Set<string>();
  if (ids.length === 0) return earlier;
  await Promise.all(
    block.legs.map(async ({ start, isOver, bounded }, i) => {
      for (const id of ids) if (bounded?.given.has(id) === true) earlier.add(id);
      const isAll = isOver && bounded === null;
      const to = bounded === null ? start : bounded.wholeTo;
      if (to === null && !isAll) return;
      const { hits } = await legs[i].read({ after: null, passed: 0 }, ids.length, ids);
      for (const hit of hits)
        if (isAll || hit.externalId === to!.externalId || compareHits(hit, to!) <= 0) earlier.add(hit.externalId);
    }),
  );
  return earlier;
}

/** All items of the block that score enough, best first; the others keep their ranks. */
function fused(
  legs: readonly PartLeg[],
  block: Block,
  lists: readonly Hit[][],
  earlier: ReadonlySet<string>,
  { fusing = BY_RANKS, explain, enough }: FusionPage,
): ScoredHit[] {
  const best = fusing.isUnit ? legs.reduce((sum, { weight }) => sum + weight / (fusing.constant + 1), 0) : 1;
  const found = new Map<string, Pick<Hit, 'score' | 'metadata' | 'version'> & { places: LegPlace[] }>();
  for (const [leg, hits] of lists.entries()) {
    const { weight } = legs[leg];
    for (const [i, { externalId, score, metadata, version }] of hits.entries()) {
      if (earlier.has(externalId)) continue;
      const rank = block.legs[leg].passed + i + 1;
      const part = fusing.kind === 'linear' ? weight * finiteScore(score) : weight / (fusing.constant + rank);
      let item = found.get(externalId);
      if (item === undefined) {
        const places = legs.map(({ name }): LegPlace => ({ name, rank: null, score: null, part: 0 }));
        found.set(externalId, (item = { score: 0, metadata, version, places }));
      }
      item.score += part;
      item.places[leg] = { ...item.places[leg], rank, score, part: part / best };
    }
  }
  const hits = [...found]
    .map(([externalId, { score, metadata, version, places }]) => ({
      externalId,
      score: finiteScore(score / best),
      metadata,
      ...(version !== undefined && { version }),
      ...(explain && { explanation: places }),
    }))
    .sort(compareHits);
  return enough(hits);
}

/** `left`: those of its items that are still to be given. The fewer are noted. */
function withGiven(block: Block, items: readonly ScoredHit[], left: readonly ScoredHit[]): Block {
  const namesOf = (hits: readonly ScoredHit[]): string[] => hits.map(({ externalId }) => externalId);
  const remaining = new Set(namesOf(left));
  const areLeft = 2 * left.length < items.length;
  const names = areLeft ? remaining : namesOf(items).filter((name) => !remaining.has(name));
  return { ...block, areLeft, digests: KeyDigests.NONE.with(names) };
}

/** The one behind it; null: there is none. Bounded lists end where the cursor would have too many of their items. */
function behind(block: Block, lists: readonly Hit[][]): Block | null {
  const bounded = block.legs.map((leg, i) => {
    if (leg.bounded === null) return null;
    return { ...leg.bounded, given: leg.bounded.given.with(lists[i].map(({ externalId }) => externalId)) };
  });
  const items = bounded.reduce((sum, leg) => sum + (leg === null ? 0 : leg.given.size + block.depth), 0);
  const isFull = items > BOUNDED_ITEMS_MAX;
  const legs = block.legs.map(({ start, passed, end, isOver }, i): BlockLeg => ({
    start: end ?? start,
    passed: passed + block.depth,
    end: null,
    isOver: isOver || end === null || (isFull && bounded[i] !== null),
    bounded: bounded[i],
  }));
  if (legs.every(({ isOver }) => isOver)) return null;
  return { ...block, legs, isFixed: false, digests: KeyDigests.NONE, areLeft: false };
}

function blockToJson({ depth, legs, areLeft, digests }: Block): readonly unknown[] {
  const parts = legs.map(({ start, passed, end, isOver, bounded }) => [
    ...[placeToJson(start), passed, placeToJson(end), isOver],
    ...(bounded === null ? [] : [placeToJson(bounded.wholeTo), bounded.given.toText()]),
  ]);
  return [depth, parts, areLeft, digests.toText()];
}

/** Errors: invalid_parameter when it is none. */
function blockFromJson(state: readonly unknown[], legCount: number): Block {
  const [depth, parts, areLeft, text] = state;
  if (state.length !== 4 || typeof areLeft !== 'boolean') throw notOne();
  if (!Array.isArray(parts) || parts.length !== legCount) throw notOne();
  const legs = (parts as unknown[]).map((part): BlockLeg => {
    const [start, passed, end, isOver, ...rest] = Array.isArray(part) ? (part as unknown[]) : [];
    if (typeof isOver !== 'boolean' || (rest.length !== 0 && rest.length !== 2)) throw notOne();
    return {
      start: placeFromJson(start),
      passed: countFromJson(passed),
      end: placeFromJson(end),
      isOver,
      bounded: rest.length === 0 ? null : { wholeTo: placeFromJson(rest[0]), given: digestsFromJson(rest[1]) },
    };
  });
  return { depth: depthFromJson(depth), legs, isFixed: true, digests: digestsFromJson(text), areLeft };
}

function depthFromJson(json: unknown): number {
  const depth = countFromJson(json);
  if (depth === 0 || depth > fusionDepth(FUSED_PAGE_MAX)) throw notOne();
  return depth;
}
