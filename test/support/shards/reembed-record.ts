import {
  NOTHING_COPIED,
  type Reembed,
  type ReshardRecord,
} from '../../../coordinator/service/collections/reshard-record';
import type { Clock } from '../../../shared/base/time/clock';

const HOUR_MS = 3_600_000;

/**
 * A job that gives collection "c", of one shard, vectors of another model: from set "used" to set "other", which has
 * all of it.
 */
export function reembedRecord(
  state: ReshardRecord['state'],
  reembed: Partial<Reembed>,
  clock: Pick<Clock, 'wallMs'>,
): ReshardRecord {
  const model = { dim: 2, embeddingModel: 'm', embedding: null };
  return {
    id: 'r',
    identity: 'c',
    name: 'c',
    from: { uid: 'used', shards: 1, model },
    to: { uid: 'other', shards: 1, model },
    earlier: [],
    replicas: 1,
    state,
    term: 1,
    startedAt: new Date(clock.wallMs()).toISOString(),
    error: null,
    sources: [{ ...NOTHING_COPIED, since: 1, isCopied: true }],
    copied: 0,
    total: 0,
    behind: 0,
    reembed: {
      onNoText: 'fail',
      compare: { sample: 1 },
      switch: 'auto',
      keepHours: 0,
      isChecked: true,
      dropped: 0,
      compared: { queries: 0, overlap: null, ndcg: null, bytes: { before: 0, after: 0 } },
      ...reembed,
    },
  };
}

/** What such a job says that has switched, and keeps the vectors of before for an hour. */
export function keptFor(clock: Pick<Clock, 'wallMs'>): Partial<Reembed> {
  const switchedAt = new Date(clock.wallMs()).toISOString();
  return { keepHours: 1, isBack: true, keptUntil: clock.wallMs() + HOUR_MS, switchedAt };
}
