import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { CallOptions, ShardClient } from '../../../shared/contract/shard/shard-client';
import type { Hit, SearchCost, SearchEffort } from '../../../shared/contract/shard/shard-read';
import type { Clock } from '../../../shared/base/time/clock';
import type { CollectionCatalog } from '../collections/collection-catalog';
import type { CollectionRecord } from '../collections/collection-record';
import type { ScatterGather } from '../routing/scatter-gather';
import { ofOneModel, ShardSets } from '../routing/shard-sets';
import type { RecallReport, RecallRequest, RecallService, SamplesService } from '../service';
import { checkDimension } from '../vectors/dimension-check';
import { mergeHits } from './merge';
import { filterIn } from '../synonyms/filter-in';

/** Queries × vectors that a check compares exactly: some ten seconds of a processor at a few hundred dimensions. */
export const COMPARED_MAX = 200_000_000;
/**
 * Vectors of the collection that are asked for when no number is given: the standard error of .99 is then about .003.
 */
const SAMPLES = 100;
/** The share of the time for a request after which no further query is asked. */
const TIME_SHARE = 0.6;
/** Shards on machines with other instructions may score an item differently in its last digits. */
const ROUNDING = 1e-6;

interface RecallQuery {
  vector: Float32Array;
  /** The item that is left out of the answers; null: none. */
  ownId: string | null;
}

/**
 * Measures the recall of a collection's searches: the same queries, calibrated and exact, one after the other, merged
 * over the shards as a search does it. One check of a process at a time, so that it takes one search's share of the
 * machine.
 */
export class RecallCheck implements RecallService {
  private readonly sets: ShardSets<CollectionRecord>;
  private isRunning = false;

  constructor(
    private readonly parts: {
      catalog: Pick<CollectionCatalog, 'known' | 'find' | 'shown'>;
      shards: Pick<ShardClient, 'read'>;
      scatter: ScatterGather;
      samples: SamplesService;
      clock: Clock;
    },
  ) {
    this.sets = new ShardSets(parts);
  }

  async check(name: string, given: RecallRequest): Promise<RecallReport> {
    return ofOneModel(() => this.checkOnce(name, given));
  }

  private async checkOnce(name: string, given: RecallRequest): Promise<RecallReport> {
    const collection = await this.parts.catalog.shown(name);
    const request = { ...given, filter: filterIn(collection, given.filter) };
    request.queries?.forEach((query, i) => checkDimension(collection, query, `query ${i}`));
    if (this.isRunning) throw new QuiverError('overloaded', 'server busy: another recall check is under way');
    this.isRunning = true;
    try {
      return await this.measure(collection, request);
    } finally {
      this.isRunning = false;
    }
  }

  private async measure(collection: CollectionRecord, request: RecallRequest): Promise<RecallReport> {
    const { scatter, shards, clock } = this.parts;
    const call = scatter.begin();
    const endMs = clock.monotonicMs() + (call.deadlineMs - clock.monotonicMs()) * TIME_SHARE;
    const counts = await this.sets.inOne(collection, call, (current) =>
      scatter.readAll(current, call, (id) => shards.read(id, 'count', null, call)),
    );
    const rows = counts.reduce((sum, count) => sum + count, 0);
    const queries = await this.queriesOf(collection, request, rows);
    const recalls: number[] = [];
    const totals = { asked: 0, scored: 0, rescored: 0, calibratedMs: 0, exactMs: 0 };
    for (const query of queries) {
      if (totals.asked > 0 && clock.monotonicMs() > endMs) break;
      const calibrated = await this.ask(collection, query, request, { type: 'calibrated' }, call);
      const exact = await this.ask(collection, query, request, { type: 'exact' }, call);
      const recall = recallOf(calibrated.hits, exact.hits);
      if (recall !== null) recalls.push(recall);
      totals.asked += 1;
      totals.scored += calibrated.cost?.scored ?? NaN;
      totals.rescored += calibrated.cost?.rescored ?? NaN;
      totals.calibratedMs += calibrated.ms;
      totals.exactMs += exact.ms;
    }
    const perQuery = (total: number): number => (totals.asked === 0 ? 0 : total / totals.asked);
    const known = (total: number): number | null => (Number.isNaN(total) ? null : perQuery(total));
    return {
      queries: totals.asked,
      ...meanOf(recalls),
      scored: known(totals.scored),
      rescored: known(totals.rescored),
      calibratedMs: perQuery(totals.calibratedMs),
      exactMs: perQuery(totals.exactMs),
    };
  }

  private async queriesOf(collection: CollectionRecord, request: RecallRequest, rows: number): Promise<RecallQuery[]> {
    const atMost = Math.max(1, Math.floor(COMPARED_MAX / Math.max(1, rows)));
    const wanted = request.queries?.length ?? request.samples ?? Math.min(SAMPLES, atMost);
    if (wanted > atMost) {
      throw new QuiverError(
        'limit_exceeded',
        `${wanted} queries over ${rows} vectors are more than a check compares: at most ${atMost} here (${COMPARED_MAX} in all)`,
      );
    }
    if (request.queries !== null) return request.queries.map((vector) => ({ vector, ownId: null }));
    const sample = { size: wanted, seed: request.seed, filter: null, vectors: true, fields: [], dimensions: null };
    const { items, vectors, dim } = await this.parts.samples.sample(collection.name, sample);
    return items.map(({ externalId }, i) => ({ vector: vectors!.subarray(i * dim, (i + 1) * dim), ownId: externalId }));
  }

  private async ask(
    collection: CollectionRecord,
    query: RecallQuery,
    request: RecallRequest,
    effort: SearchEffort,
    call: CallOptions,
  ): Promise<{ hits: Hit[]; cost: SearchCost | null; ms: number }> {
    const { scatter, shards, clock } = this.parts;
    const startMs = clock.monotonicMs();
    // One more than wanted, where the item itself is most likely the best.
    const k = request.k + (query.ownId === null ? 0 : 1);
    const search = { vector: query.vector, k, filter: request.filter, effort, texts: false, counted: true } as const;
    const answers = await this.sets.ofModel(collection, call, (current) =>
      scatter.readAll(current, call, (id) => shards.read(id, 'search', search, call)),
    );
    const hits = mergeHits(
      answers.map((answer) => answer.hits),
      0,
      k,
    );
    const costs = answers.map(({ cost }) => cost);
    const cost = costs.every((one) => one !== undefined)
      ? costs.reduce((sum, one) => ({ scored: sum.scored + one.scored, rescored: sum.rescored + one.rescored }), {
          scored: 0,
          rescored: 0,
        })
      : null;
    return {
      hits: hits.filter(({ externalId }) => externalId !== query.ownId).slice(0, request.k),
      cost,
      ms: clock.monotonicMs() - startMs,
    };
  }
}

/** The share of exact answers that were found; what is as near as the last of them counts. null: there is none. */
function recallOf(found: Hit[], exact: Hit[]): number | null {
  if (exact.length === 0) return null;
  const last = exact[exact.length - 1].score;
  const least = last - ROUNDING * Math.abs(last);
  return Math.min(exact.length, found.filter(({ score }) => score >= least).length) / exact.length;
}

function meanOf(recalls: number[]): { recall: number | null; standardError: number | null } {
  const count = recalls.length;
  if (count === 0) return { recall: null, standardError: null };
  const recall = recalls.reduce((sum, one) => sum + one, 0) / count;
  const variance = recalls.reduce((sum, one) => sum + (one - recall) ** 2, 0) / Math.max(1, count - 1);
  return { recall, standardError: count < 2 ? null : Math.sqrt(variance / count) };
}
