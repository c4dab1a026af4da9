import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { StageOperation } from '../../../shared/contract/shard/shard-client';
import type { ShardStage } from '../../../shared/contract/shard/shard-stage';
import type { ReadKind, RequestOf } from '../../../shared/contract/shard/shard-read';

/**
 * What a shard knows of its way to another set of shards (docs/architecture/resharding.md). It is a part of the
 * records: it follows from the operations before it, in their order, and so is the same on every replica.
 */
export interface StageState {
  stage: ShardStage;
  /** The highest term that was seen, whatever became of its reshard: nothing of an earlier one counts. */
  term: number;
  reshard: string;
  /** The term in which it began to track without a pause; 0 while it does not. */
  since: number;
  /** The number of the last change that was noted. It never falls, so that no number means two things. */
  lastChange: number;
  /** Changes up to this one need not be remembered. */
  forgotten: number;
}

/** Of a shard that never was a part of a reshard. */
export const OPEN_STAGE: StageState = { stage: 'open', term: 0, reshard: '', since: 0, lastChange: 0, forgotten: 0 };

/** The gate after the operation; null when the operation is outdated. */
export function stageAfter(stageState: StageState, operation: StageOperation): StageState | null {
  const { term, reshard, stage } = operation;
  if (term < stageState.term) return null;
  // It may have taken clients' writes since it was opened: nothing may be put over them. One that is to be followed
  // notes its changes from the first on.
  const isUsed = stageState.stage === 'open' || stageState.stage === 'tracking';
  if (stage === 'filling' && isUsed && stageState.reshard === reshard) return null;
  const isSource = tracks(stage);
  const goesOn = isSource && stageState.since > 0 && stageState.reshard === reshard;
  const forgotten = goesOn
    ? Math.min(stageState.lastChange, Math.max(stageState.forgotten, operation.forget))
    : stageState.lastChange;
  return {
    stage,
    term,
    reshard,
    since: goesOn ? stageState.since : isSource ? term : 0,
    lastChange: stageState.lastChange,
    forgotten,
  };
}

/** Whether a shard notes what changes; while it is sealed, nothing does. */
function tracks(stage: ShardStage): boolean {
  return stage === 'tracking' || stage === 'sealed' || stage === 'closed';
}

/** Whether clients' operations are refused. */
export function refusesWrites({ stage }: StageState): boolean {
  return stage === 'sealed' || stage === 'closed' || stage === 'filling';
}

/** Whether clients' reads are refused. */
export function refusesReads({ stage }: StageState): boolean {
  return stage === 'closed' || stage === 'filling';
}

/** Errors: resharded, where the read belongs to the collection's other set of shards. */
export function mustAnswer<Kind extends ReadKind>(stageState: StageState, kind: Kind, request: RequestOf<Kind>): void {
  if (!refusesReads(stageState) || kind === 'transfer') return;
  const isOfFiller = kind === 'fetch' && (request as RequestOf<'fetch'>).filling === true;
  if (stageState.stage !== 'filling' || !isOfFiller)
    throw new QuiverError('resharded', 'the collection changes its number of shards; the call may be retried');
}

export function stageToBytes(stageState: StageState): Buffer {
  return Buffer.from(JSON.stringify(stageState));
}

/** Errors: SyntaxError. */
export function stageFromBytes(bytes: Buffer): StageState {
  return JSON.parse(bytes.toString()) as StageState;
}
