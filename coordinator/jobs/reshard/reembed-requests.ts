import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../shared/base/time/clock';
import { type CollectionEmbedding, embeddingKey, modelNameOf } from '../../models/collection-embedding';
import { PassageTemplate } from '../../models/passage-template';
import { type CollectionObstacle, templateObstacle } from '../../service/collections/collection-obstacle';
import type { CollectionRecord } from '../../service/collections/collection-record';
import {
  type Reembed,
  type ReshardRecord,
  reshardJobId,
  reshardPath,
  type ReshardState,
  reshardToValue,
  type SetModel,
} from '../../service/collections/reshard-record';
import { mustBeFirst, outcomeTransaction, type StoreDedup } from '../../service/idempotency/store-dedup';
import type { JobView } from '../../service/jobs-service';
import type { ReembedRequest } from '../../service/service';
import { reshardJob } from './reshard-job-view';
import { type ReshardRequests, tooBusy } from './reshard-requests';
import { unmadeText } from './unmade-items';

const ATTEMPTS_MAX = 32;
const KEEP_HOURS = 24;
const HOUR_MS = 3_600_000;

/** As jobs show it. */
const STEPS: Partial<Record<ReshardState, string>> = { kept: 'switched' };

/** What somebody wants of a job that is under way. */
export type ReembedChange = { type: 'pause' | 'resume' | 'back' } | { type: 'switch'; keepHours: number | undefined };

/** Has the texts of collections embedded anew. Somebody else drives that (Resharder). */
export class ReembedRequests {
  constructor(
    private readonly parts: {
      store: ClusterStore;
      clock: Pick<Clock, 'wallMs'>;
      reshards: Pick<ReshardRequests, 'plannedReembed' | 'storedOf'>;
      /** Errors: not_found. */
      collection: (name: string) => Promise<CollectionRecord>;
      /** As EmbeddingProvider has it. */
      dimensionOf: (embedding: CollectionEmbedding) => Promise<number | null>;
      /** Errors: not_found when the collection has no judgements of this name. */
      mustBeJudged: (collection: string, judged: string) => Promise<unknown>;
      obstacle: CollectionObstacle;
    },
  ) {}

  /**
   * Errors: not_found; invalid_parameter for a model that it has, or can't have, and where there is no way back that is
   * asked for; dimension_mismatch; already_exists while a reshard is under way; limit_exceeded; unavailable.
   */
  async begin(name: string, input: ReembedRequest, dedup?: StoreDedup): Promise<JobView> {
    const { store, clock, reshards, obstacle } = this.parts;
    const { onNoText, compare } = input;
    const template = PassageTemplate.kept(input.template);
    const embedding = { ...input.embedding, ...(template !== undefined && { template }) };
    const reason =
      obstacle('reembeds', 'texts of a collection can be embedded anew') ?? templateObstacle(embedding, obstacle);
    if (reason !== null) throw new QuiverError('unavailable', reason);
    const seen = await this.parts.collection(name);
    const dim = await this.dimensionOf(seen, input);
    const isSame =
      seen.embedding !== undefined &&
      embeddingKey(seen.embedding) === embeddingKey(embedding) &&
      seen.embedding.template === template;
    if (isSame && dim === seen.dim)
      throw new QuiverError('invalid_parameter', `the vectors of collection "${name}" are of this model already`);
    const model: SetModel = {
      dim,
      embeddingModel: modelNameOf(embedding),
      embedding,
    };
    if ('judged' in compare) await this.parts.mustBeJudged(name, compare.judged);
    const reembed: Reembed = {
      onNoText,
      compare,
      switch: input.switch,
      keepHours: keepHoursOf(seen, input),
      dropped: 0,
    };
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const { reshard, guards, changes } = await reshards.plannedReembed(seen, model, reembed);
      const job = reshardJob(reshard, clock.wallMs());
      const outcome = outcomeTransaction(dedup, job);
      const result = await store.transact([...guards, ...outcome.guards], [...changes, ...outcome.changes]);
      mustBeFirst(dedup, result);
      if (result.applied) return job;
    }
    throw tooBusy(name);
  }

  /**
   * Changes what a job is to do. Answers the reshard as it is then; null: it is over. Errors: conflict where that can't
   * be done now; unavailable.
   */
  async change(name: string, job: string, change: ReembedChange): Promise<ReshardRecord | null> {
    const { store, clock, reshards } = this.parts;
    const { identity } = await this.parts.collection(name);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const found = await reshards.storedOf(identity);
      if (found === null || reshardJobId(found.record) !== job) return null;
      const { record, revision } = found;
      const reembed = changed(record, change, clock.wallMs());
      if (reembed === null) return record;
      const next = { ...record, reembed };
      const key = reshardPath(identity);
      const value = reshardToValue(next);
      if ((await store.transact([{ key, revision }], [{ type: 'put', key, value }])).applied) return next;
    }
    throw tooBusy(name);
  }

  private async dimensionOf(collection: CollectionRecord, { embedding, dim }: ReembedRequest): Promise<number> {
    const made = await this.parts.dimensionOf(embedding);
    if (made !== null && dim !== undefined && made !== dim)
      throw new QuiverError(
        'dimension_mismatch',
        `dimension mismatch: dim is ${dim}, but ${embedding.model} makes vectors of dimension ${made}`,
        { details: { expected: made, actual: dim } },
      );
    return made ?? dim ?? collection.dim;
  }
}

function keepHoursOf({ name, embeddingModel }: CollectionRecord, { keepHours }: ReembedRequest): number {
  if (embeddingModel !== null) return keepHours ?? KEEP_HOURS;
  if (keepHours !== undefined && keepHours > 0)
    throw new QuiverError(
      'invalid_parameter',
      `keep_hours must be 0: the vectors of collection "${name}" are of no model, ` +
        'so those of later texts could not be made, and there is no way back',
    );
  return 0;
}

/** What the record says then; null: it says so already. Errors: conflict. */
function changed(record: ReshardRecord, change: ReembedChange, wallMs: number): Reembed | null {
  const { state, copied } = record;
  const reembed = record.reembed!;
  const isPaused = reembed.isPaused === true;
  const id = reshardJobId(record);
  const refused = (why: string): QuiverError => new QuiverError('conflict', `job ${id} ${why}`);
  switch (change.type) {
    case 'pause':
      if (state !== 'filling' && state !== 'ready')
        throw refused(`can’t be paused while it is ${STEPS[state] ?? state}`);
      return isPaused ? null : { ...reembed, isPaused: true };
    case 'resume':
      return isPaused ? { ...reembed, isPaused: undefined, since: { ms: wallMs, copied } } : null;
    case 'switch':
      return switched(record, change.keepHours, wallMs, refused);
    case 'back':
      if ((state === 'sealing' || state === 'opening') && reembed.isBack === true) return null;
      if (state !== 'kept') throw refused('has not switched: there is nothing to go back to');
      if (isPastReturn(reembed, wallMs)) throw refused('can’t go back any more: the vectors of before are not kept');
      if (reembed.unmade !== undefined && reembed.unmade.length > 0) throw refused(unmadeText(reembed.unmade));
      return reembed.wanted === 'back' ? null : { ...reembed, wanted: 'back' };
  }
}

function switched(
  { state, reembed, from }: ReshardRecord,
  keepHours: number | undefined,
  wallMs: number,
  refused: (why: string) => QuiverError,
): Reembed | null {
  const { isPaused, wanted, switchedAt } = reembed!;
  if (state === 'kept') {
    const isOver = isPastReturn(reembed!, wallMs);
    if (isOver && keepHours !== undefined && keepHours > 0)
      throw refused('has no way back any more that could be kept: the vectors of before are not kept');
    const keeps =
      keepHours === undefined || isOver
        ? {}
        : { keepHours, keptUntil: Math.max(wallMs, Date.parse(switchedAt!) + keepHours * HOUR_MS) };
    // Who has had enough of going back stays with the new vectors.
    return wanted !== 'back' && (keepHours === undefined || isOver)
      ? null
      : { ...reembed!, wanted: undefined, ...keeps };
  }
  // It was asked for already.
  if ((state === 'sealing' || state === 'opening') && reembed!.isBack !== true && keepHours === undefined) return null;
  if (state !== 'ready') throw refused(`can’t switch now: it is ${state}, not ready`);
  if (isPaused === true) throw refused('is paused: resume it first');
  if (keepHours !== undefined && keepHours > 0 && from.model!.embeddingModel === null)
    throw refused('has no way back that could be kept: the vectors of before are of no model');
  if (wanted === 'switch' && keepHours === undefined) return null;
  return { ...reembed!, wanted: 'switch', ...(keepHours !== undefined && { keepHours }) };
}

function isPastReturn({ keptUntil = 0, isEnding }: Reembed, wallMs: number): boolean {
  return isEnding === true || keptUntil <= wallMs;
}
