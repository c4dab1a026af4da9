import { shownFields } from '../../../shared/contract/shard/keyword-fields';
import type { JobRights, JobState, JobView } from '../../service/jobs-service';
import { modelNameOf } from '../../models/collection-embedding';
import {
  isReindex,
  reshardJobId,
  reshardKind,
  type ReshardRecord,
  type ReshardState,
  type SetModel,
} from '../../service/collections/reshard-record';
import { reshardView } from '../../service/collections/reshard-view';
import { paceOf } from '../record/job-record';
import { reembedResult } from './reembedding';

/** By kind. */
export const RESHARD_JOB_RIGHTS: Record<ReturnType<typeof reshardKind>, JobRights> = {
  reshard: { see: 'admin', change: 'admin' },
  // Of one that a PATCH of the collection began.
  reindex: { see: 'readonly', change: 'readwrite' },
  // Of one that embeds texts anew.
  reembed: { see: 'readonly', change: 'admin' },
};

const STATES: Record<ReshardState, JobState> = {
  seeding: 'running',
  filling: 'running',
  ready: 'running',
  kept: 'running',
  sealing: 'running',
  opening: 'running',
  retiring: 'done',
  cancelling: 'running',
  failed: 'failed',
  stuck: 'running',
};

/** A reshard as a job. */
export function reshardJob(record: ReshardRecord, wallMs: number): JobView {
  const { fraction, waitsFor } = reshardView(record);
  const { name, state, copied, total, startedAt, error, reembed } = record;
  const since = reembed?.since ?? { ms: Date.parse(startedAt), copied: 0 };
  const isFilling = state === 'filling' && copied > since.copied && !isResting(record);
  const kind = reshardKind(record);
  return {
    id: reshardJobId(record),
    kind,
    state: isResting(record) ? 'paused' : STATES[state],
    step: state === 'failed' ? null : reembed === undefined ? state : stepOf(record),
    collection: name,
    subject: subjectOf(record),
    progress: fraction,
    done: copied,
    total,
    unit: 'items',
    ...paceOf({ done: copied, total }, isFilling ? { ms: since.ms, done: since.copied } : null, wallMs),
    createdAt: startedAt,
    startedAt,
    endedAt: null,
    error,
    waitsFor,
    // What was found is told before somebody decides.
    result: reembed?.compared === undefined ? null : reembedResult(record),
    rights: RESHARD_JOB_RIGHTS[kind],
  };
}

/** Whether it is paused, and nothing else is being done with it. */
function isResting({ state, reembed }: ReshardRecord): boolean {
  return reembed?.isPaused === true && (state === 'filling' || state === 'ready');
}

/** What one that embeds texts anew is at. */
function stepOf({ state, reembed, sources }: ReshardRecord): string {
  const { isChecked, onNoText, wanted } = reembed!;
  if (state === 'kept') return wanted === 'back' ? 'back' : 'switched';
  if (state !== 'filling') return state;
  if (onNoText === 'fail' && isChecked !== true) return 'checking';
  if (!sources.every(({ isCopied }) => isCopied)) return 'filling';
  return 'following';
}

function subjectOf(record: ReshardRecord): string {
  const { from, to, reembed } = record;
  if (reembed !== undefined) {
    const [before, after] = reembed.isBack === true ? [to, from] : [from, to];
    return `${modelText(before.model!)} to ${modelText(after.model!)}`;
  }
  return isReindex(record) ? fieldsOf(to) : `${from.shards} to ${to.shards} shards`;
}

function modelText({ embeddingModel, embedding, dim }: SetModel): string {
  const template = embedding?.template;
  const of = template === undefined ? '' : ` of ${JSON.stringify(template)}`;
  return `${embedding === null ? (embeddingModel ?? 'given vectors') : modelNameOf(embedding)} (${dim})${of}`;
}

function fieldsOf({ keywordFields }: ReshardRecord['to']): string {
  return `keyword_fields ${keywordFields ? shownFields(keywordFields, ', ') : 'all'}`;
}
