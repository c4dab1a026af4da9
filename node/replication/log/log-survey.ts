import { LaterFormatError } from '../../engine/files/later-format';
import type { KeyValueEntry, KeyValueStore } from '../../engine/kv/key-value-store';
import { momentOf } from '../../../shared/contract/writes/operation-codec';
import type { EpochStart, LogEntry, ReplicaState } from '../core/replica-state';
import { logEntryFromBytes, notedInBytes } from './log-entry-codec';
import {
  APPLIED_KEY,
  BASE_KEY,
  LOG_RANGE,
  logKeyFrom,
  pairFromBytes,
  positionOfLogKey,
  PROMISES_KEY,
  SESSIONS_RANGE,
  TIMES_KEY,
} from './log-keys';
import type { WatermarkState } from './log-watermark';
import { SettledWrites } from '../settled-writes';

/** Entries per page when whole entries are read; each may be megabytes long. */
const READ_PAGE = 16;

/** What a store holds of a log. */
export interface LogSurvey {
  state: ReplicaState;
  settled: SettledWrites;
  /** Bytes of each entry, from the first on. */
  sizes: number[];
}

/** The latest that entries of a log have noted. */
export interface LogTimes {
  latestTimeMs: number;
  latestMoment: number;
}

/**
 * Examines a store at a start: the keys and lengths of all entries, and the content of those that are not in the
 * records yet. What is missing or damaged, also compared with `mark`, is reported as `lossy`; the state then ends
 * before it. Errors: storage_failed, LaterFormatError.
 */
export async function surveyLog(store: KeyValueStore, watermark: WatermarkState | null): Promise<LogSurvey> {
  const [promises, applied, base, times] = await store.getMany([PROMISES_KEY, APPLIED_KEY, BASE_KEY, TIMES_KEY]);
  const [promisedEpoch, lastLedEpoch] = pairOr0(promises);
  const [baseSequence, precedingEpoch] = pairOr0(base);
  const [appliedSequence] = pairOr0(applied);
  const sessions: KeyValueEntry[] = [];
  for await (const page of store.scan(SESSIONS_RANGE)) sessions.push(...page);
  const settled = SettledWrites.load(sessions);

  const { epochStarts, lastSequence, sizes, latest, gap } = await readPositions(store, baseSequence);
  const [latestTimeMs, latestMoment] = pairOr0(times);
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
    ...latest.reduce<LogTimes>(laterTimes, { latestTimeMs, latestMoment }),
  };
  const lossy = damage ?? lossOf(state, watermark);
  return { state: lossy === null ? state : { ...state, lossy }, settled, sizes };
}

/** The later of what was known and what an entry says. */
function laterTimes({ latestTimeMs, latestMoment }: LogTimes, { write }: LogEntry): LogTimes {
  if (write === null) return { latestTimeMs, latestMoment };
  return {
    latestTimeMs: Math.max(latestTimeMs, write.at ?? 0),
    latestMoment: Math.max(latestMoment, momentOf(write.payload)),
  };
}

/** Epoch of an entry of the log, or of the one before its first. */
export function epochAt(
  state: Pick<ReplicaState, 'firstSequence' | 'precedingEpoch' | 'epochStarts'>,
  sequence: number,
): number {
  const { firstSequence, precedingEpoch, epochStarts } = state;
  if (sequence < firstSequence) return precedingEpoch;
  return epochStarts.findLast((start) => start.sequence <= sequence)?.epoch ?? precedingEpoch;
}

/** Drops the starts of epochs of which the log has no entry any more. */
export function dropTrimmedEpochs({ epochStarts, firstSequence, lastSequence }: ReplicaState): void {
  while (epochStarts.length > 0 && (epochStarts[1]?.sequence ?? lastSequence + 1) <= firstSequence) epochStarts.shift();
}

interface FoundLog {
  epochStarts: EpochStart[];
  lastSequence: number;
  sizes: number[];
  /**
   * The last entry that has a time, and the last one that has a moment: they have the latest. Less where they can't be
   * read.
   */
  latest: LogEntry[];
  gap: string | null;
}

/** Keys and lengths. A scan of the keys alone would read the same blocks. */
async function readPositions(store: KeyValueStore, baseSequence: number): Promise<FoundLog> {
  const found: FoundLog = { epochStarts: [], lastSequence: baseSequence, sizes: [], latest: [], gap: null };
  // A write may have either without the other, or neither: members differ in what they are told to do, and to know.
  let timed: KeyValueEntry | null = null;
  let momentary: KeyValueEntry | null = null;
  scanning: for await (const page of store.scan({ from: logKeyFrom(baseSequence + 1), to: LOG_RANGE.to })) {
    for (const entry of page) {
      const { sequence, epoch } = positionOfLogKey(entry.key);
      const latest = found.epochStarts.at(-1);
      if (sequence !== found.lastSequence + 1) found.gap = `the log goes on at ${sequence} after ${found.lastSequence}`;
      else if (epoch < (latest?.epoch ?? 0)) found.gap = `the epochs of the log fall at ${sequence}`;
      if (found.gap !== null) break scanning;
      found.lastSequence = sequence;
      found.sizes.push(entry.value.length);
      const noted = notedInBytes(entry.value);
      if (noted.time) timed = entry;
      if (noted.moment) momentary = entry;
      if (latest === undefined || epoch > latest.epoch) found.epochStarts.push({ epoch, sequence });
    }
  }
  for (const last of new Set([timed, momentary])) {
    const entry = last === null ? null : entryOrNull(last);
    if (entry !== null) found.latest.push(entry);
  }
  return found;
}

/** What of an applied entry can't be read is for others to find: here it only tells no time. */
function entryOrNull({ key, value }: KeyValueEntry): LogEntry | null {
  try {
    return logEntryFromBytes(value, positionOfLogKey(key));
  } catch {
    return null;
  }
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
function lossOf(state: ReplicaState, watermark: WatermarkState | null): string | null {
  if (state.appliedSequence > state.lastSequence)
    return `the log ends at ${state.lastSequence} and the records hold ${state.appliedSequence}`;
  if (watermark === null) return null;
  if (state.lastSequence < watermark.sequence)
    return `the log ends at ${state.lastSequence} and once ended at ${watermark.sequence}`;
  if (watermark.sequence >= state.firstSequence && epochAt(state, watermark.sequence) !== watermark.epoch)
    return `entry ${watermark.sequence} of the log is not the one of epoch ${watermark.epoch} that it had`;
  if (state.promisedEpoch < watermark.promisedEpoch) return `the promise of epoch ${watermark.promisedEpoch} is gone`;
  if (state.lastLedEpoch < watermark.lastLedEpoch) return `the lead of epoch ${watermark.lastLedEpoch} is gone`;
  return null;
}

function pairOr0(bytes: Buffer | undefined): [number, number] {
  return bytes === undefined ? [0, 0] : pairFromBytes(bytes);
}
