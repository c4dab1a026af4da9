import { LaterFormatError } from '../files/later-format';
import type { KeyValueEntry, KeyValueStore } from '../kv/key-value-store';
import type { EpochStart, ReplicaState } from './core/replica-state';
import { logEntryFromBytes } from './log-entry-codec';
import { APPLIED_KEY, BASE_KEY, LOG_RANGE, logKeyFrom, pairFromBytes, positionOfLogKey, PROMISES_KEY, SESSIONS_RANGE } from './log-keys';
import type { MarkedState } from './log-mark';
import { SettledWrites } from './settled-writes';

/** Entries per page when whole entries are read; each may be megabytes long. */
const READ_PAGE = 16;

/** What a store holds of a log. */
export interface LogSurvey {
  state: ReplicaState;
  settled: SettledWrites;
}

/**
 * Examines a store at a start: the keys of every entry, and the content of those that are not in the records yet. What
 * is missing or damaged, also compared with `mark`, is reported as `lossy`; the state then ends before it. Errors:
 * storage_failed, LaterFormatError.
 */
export async function surveyLog(store: KeyValueStore, mark: MarkedState | null): Promise<LogSurvey> {
  const [promises, applied, base] = await store.getMany([PROMISES_KEY, APPLIED_KEY, BASE_KEY]);
  const [promisedEpoch, lastLedEpoch] = pairOr0(promises);
  const [baseSequence, precedingEpoch] = pairOr0(base);
  const [appliedSequence] = pairOr0(applied);
  const sessions: KeyValueEntry[] = [];
  for await (const page of store.scan(SESSIONS_RANGE)) sessions.push(...page);
  const settled = SettledWrites.load(sessions);

  const { epochStarts, lastSequence, gap } = await readPositions(store, baseSequence);
  const damage = gap ?? (await findDamage(store, Math.max(appliedSequence, baseSequence)));
  const state: ReplicaState = {
    promisedEpoch,
    lastLedEpoch,
    firstSequence: baseSequence + 1,
    lastSequence,
    precedingEpoch,
    epochStarts,
    appliedSequence,
    settled: settled.all(),
  };
  const lossy = damage ?? lossOf(state, mark);
  return { state: lossy === null ? state : { ...state, lossy }, settled };
}

/** Epoch of an entry of the log, or of the one before its first. */
export function epochAt(state: Pick<ReplicaState, 'firstSequence' | 'precedingEpoch' | 'epochStarts'>, sequence: number): number {
  const { firstSequence, precedingEpoch, epochStarts } = state;
  if (sequence < firstSequence) return precedingEpoch;
  return epochStarts.findLast((start) => start.sequence <= sequence)?.epoch ?? precedingEpoch;
}

/** Drops the starts of epochs of which the log has no entry any more. */
export function dropTrimmedEpochs({ epochStarts, firstSequence, lastSequence }: ReplicaState): void {
  while (epochStarts.length > 0 && (epochStarts[1]?.sequence ?? lastSequence + 1) <= firstSequence) epochStarts.shift();
}

async function readPositions(store: KeyValueStore, baseSequence: number): Promise<{ epochStarts: EpochStart[]; lastSequence: number; gap: string | null }> {
  const epochStarts: EpochStart[] = [];
  let lastSequence = baseSequence;
  for await (const page of store.scan({ from: logKeyFrom(baseSequence + 1), to: LOG_RANGE.to, values: false })) {
    for (const { key } of page) {
      const { sequence, epoch } = positionOfLogKey(key);
      const latest = epochStarts.at(-1);
      if (sequence !== lastSequence + 1) return { epochStarts, lastSequence, gap: `the log goes on at ${sequence} after ${lastSequence}` };
      if (epoch < (latest?.epoch ?? 0)) return { epochStarts, lastSequence, gap: `the epochs of the log fall at ${sequence}` };
      lastSequence = sequence;
      if (latest === undefined || epoch > latest.epoch) epochStarts.push({ epoch, sequence });
    }
  }
  return { epochStarts, lastSequence, gap: null };
}

async function findDamage(store: KeyValueStore, after: number): Promise<string | null> {
  for await (const page of store.scan({ from: logKeyFrom(after + 1), to: LOG_RANGE.to, pageSize: READ_PAGE })) {
    for (const { key, value } of page) {
      try {
        logEntryFromBytes(value, positionOfLogKey(key));
      } catch (error) {
        if (error instanceof LaterFormatError) throw error;
        return (error as Error).message;
      }
    }
  }
  return null;
}

/** What the store lacks of what its records and its mark say that it had; null for nothing. */
function lossOf(state: ReplicaState, mark: MarkedState | null): string | null {
  if (state.appliedSequence > state.lastSequence) return `the log ends at ${state.lastSequence} and the records hold ${state.appliedSequence}`;
  if (mark === null) return null;
  if (state.lastSequence < mark.sequence) return `the log ends at ${state.lastSequence} and once ended at ${mark.sequence}`;
  if (mark.sequence >= state.firstSequence && epochAt(state, mark.sequence) !== mark.epoch) return `entry ${mark.sequence} of the log is not the one of epoch ${mark.epoch} that it had`;
  if (state.promisedEpoch < mark.promisedEpoch) return `the promise of epoch ${mark.promisedEpoch} is gone`;
  if (state.lastLedEpoch < mark.lastLedEpoch) return `the lead of epoch ${mark.lastLedEpoch} is gone`;
  return null;
}

function pairOr0(bytes: Buffer | undefined): [number, number] {
  return bytes === undefined ? [0, 0] : pairFromBytes(bytes);
}
