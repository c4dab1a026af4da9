import { hashExternalId } from '../../../../shared/contract/shard/shard-of';
import {
  type DedupEntry,
  dedupFromBytes,
  type DedupProgress,
  type DedupRecord,
} from '../../../../shared/contract/writes/dedup-record';
import { keptNote, sealedId } from '../../../../shared/contract/shard/step-note';
import {
  EACH_VERSION,
  type DedupOperation,
  PLAIN_STEP,
  type WriteOutcome,
  type WriteResult,
} from '../../../../shared/contract/shard/shard-client';
import type { ShardOperation } from './checked-write';
import type { DedupTable } from './dedup-table';

const NO_PROGRESS: DedupProgress = { step: 0, done: 0, excess: 0, first: null, note: '' };

/** One request that is done once, while it is planned: what of it was done before, and what is remembered of it. */
export class DedupRequest {
  /** Of the mark itself. */
  readonly outcome: WriteOutcome;
  private readonly record: DedupRecord | null;
  /** The outcome of everything else, where nothing is to be done. */
  private readonly skip: WriteOutcome | null;
  /** What was done before, by the hash of the id, in the order of the operations on it. */
  private readonly before = new Map<number, DedupEntry[]>();
  /** By the place of the operation. */
  private readonly repeated = new Map<number, DedupEntry>();

  constructor(
    private readonly dedup: DedupOperation,
    private readonly table: DedupTable,
  ) {
    this.record = table.alive(dedup.token, dedup.nowMs);
    this.outcome = judge(dedup, this.record);
    this.skip =
      this.outcome === 'outdated'
        ? 'outdated'
        : this.outcome === 'withheld' || this.outcome === 'absent'
          ? 'withheld'
          : null;
    for (const entry of this.record?.entries ?? []) {
      const entries = this.before.get(entry.hash);
      if (entries === undefined) this.before.set(entry.hash, [entry]);
      else entries.push(entry);
    }
  }

  /**
   * What the operation comes to without being done; null: it has to be done now. `place`: its own among those of the
   * request.
   */
  known(operation: ShardOperation, place: number): WriteOutcome | null {
    if (this.skip !== null) return this.skip;
    if (this.before.size === 0 || !('externalId' in operation)) return null;
    const entry = this.before.get(hashExternalId(operation.externalId))?.shift();
    if (entry === undefined) return null;
    this.repeated.set(place, entry);
    return entry.outcome;
  }

  /** Notes what became of the request, and completes its result. */
  end(result: WriteResult, operations: readonly ShardOperation[]): void {
    const { dedup, record, repeated } = this;
    const { outcomes } = result;
    // The gate refused it.
    if (outcomes[0] === 'refused') return;
    outcomes[0] = this.outcome;
    if (this.skip !== null) return;
    let conflicts = 0;
    const versions = outcomes.map((outcome, i) => {
      const entry = repeated.get(i);
      if (entry !== undefined) {
        outcomes[i] = entry.outcome;
        return entry.version;
      }
      if (outcome === 'conflict') return result.present[conflicts++];
      return i > 0 && (outcome === 'inserted' || outcome === 'updated') ? result.firstVersion + i : 0;
    });
    if (record !== null) Object.assign(result, { firstVersion: EACH_VERSION, present: versions });
    if (dedup.step === PLAIN_STEP) this.note(outcomes, versions, operations);
    else this.advance(outcomes, operations);
  }

  private note(outcomes: WriteOutcome[], versions: number[], operations: readonly ShardOperation[]): void {
    const { dedup, record, repeated } = this;
    if (record !== null && repeated.size === operations.length - 1) return;
    const entries = [...(record?.entries ?? [])];
    operations.forEach((operation, i) => {
      if (!repeated.has(i) && 'externalId' in operation)
        entries.push({ hash: hashExternalId(operation.externalId), outcome: outcomes[i], version: versions[i] });
    });
    this.put({
      entries,
      verdict: record === null && dedup.note !== '' ? dedup.note : null,
      progress: record?.progress ?? null,
    });
  }

  private advance(outcomes: WriteOutcome[], operations: readonly ShardOperation[]): void {
    const { dedup, record } = this;
    let { done, excess, first } = record?.progress ?? NO_PROGRESS;
    operations.forEach((operation, i) => {
      if (!('externalId' in operation)) return;
      if (outcomes[i] === 'deleted' || outcomes[i] === 'updated') done += 1;
      if (outcomes[i] !== 'excess') return;
      excess += 1;
      first ??= sealedId(operation.externalId, dedup);
    });
    this.put({
      entries: record?.entries ?? [],
      verdict: null,
      progress: { step: dedup.step + 1, done, excess, first, note: keptNote(dedup.note) },
    });
  }

  private put(now: Pick<DedupRecord, 'entries' | 'verdict' | 'progress'>): void {
    const { dedup, record } = this;
    const { token, digest } = dedup;
    this.table.put(
      { token, digest, expiresAtMs: dedup.nowMs + dedup.keptMs, earlier: record?.earlier ?? [], ...now },
      dedup,
    );
  }
}

function judge({ digest, step }: DedupOperation, record: DedupRecord | null): WriteOutcome {
  if (record === null) return step > 0 ? 'outdated' : 'inserted';
  if (record.digest !== digest) return 'withheld';
  if (record.verdict !== null) return 'absent';
  if (step === PLAIN_STEP) return 'updated';
  return (record.progress?.step ?? 0) === step ? 'updated' : 'outdated';
}

/** Puts a mark of another shard here. */
export function takeDedup(
  { note, step: rest, keptMs: shards, nowMs, bytesMax }: DedupOperation,
  table: DedupTable,
): void {
  table.merge({ record: dedupFromBytes(Buffer.from(note, 'base64')), shards, rest }, { nowMs, bytesMax });
}
