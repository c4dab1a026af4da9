import type { ClusterStore, Guard, StoreChange, StoreEntry } from '../../../shared/cluster-store/cluster-store';
import { readableEntries } from '../../service/readable-entries';
import { WatchedEntries, type Watched } from '../../../shared/cluster-store/entries/watched-entries';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import { isEnded, type JobRights, type JobView } from '../../service/jobs-service';
import type { DrivenWork, Failures, Runs } from '../driving/job-driver';
import { obstacleOf } from '../driving/obstacle';
import { type DriverLeadership, OwnedEntry, Superseded } from '../driving/owned-entry';
import { JobIndex } from './job-index';
import type { JobKind, JobProgress, RunningJob } from './job-kind';
import {
  JOBS_PREFIX,
  jobFromEntry,
  jobPath,
  type JobRecord,
  jobToValue,
  jobView,
  type NewJob,
  newJobId,
  newJobRecord,
} from './job-record';
import type { AskedJobs, JobSource } from './job-source';
import { isOlder, JobTurns } from './job-turns';
import { Obstructions } from './obstructions';

/** What is over is kept for so long, and at most so many of each kind: the oldest are forgotten first. */
const ENDED_KEPT_MS = 7 * 24 * 3_600_000;
const ENDED_KEPT_MAX = 1_000;
/** How often that is looked at, and how many are removed in one transaction; etcd accepts 128 changes. */
const FORGET_EVERY_MS = 60_000;
const FORGOTTEN_AT_ONCE = 100;
/** A job that fails so often in a way that nobody expects has something that no other attempt will mend. */
const UNEXPECTED_MAX = 5;
/** Between two reports that are stored: the store is shared by all. */
const REPORT_EVERY_MS = 2_000;
const ANY: AskedJobs = { is: () => true, most: Infinity };
/** Every failed attempt means that another change was made. */
const ATTEMPTS_MAX = 16;

/** Jobs whose record is the common one: it stores them, shows them, and drives those of the kinds that it is told. */
export class StoredJobs implements JobSource, DrivenWork<JobRecord> {
  readonly name = 'a job';
  readonly entries: WatchedEntries<JobRecord>;
  private readonly index: JobIndex;
  private readonly byKind: ReadonlyMap<string, JobKind>;
  private readonly obstructions: Obstructions;
  private readonly inputs = new WeakMap<JobRecord, string>();
  private forgottenMs = -Infinity;

  /** `rightsOf`: those of the kinds whose jobs are stored here only when they are over. */
  constructor(
    private readonly parts: {
      store: ClusterStore;
      leadership: () => DriverLeadership;
      clock: Clock;
      log: Logger;
      kinds: readonly JobKind[];
      rightsOf: Readonly<Record<string, JobRights>>;
      keptMax?: number;
      /** Between two reports that are stored; default: two seconds. */
      reportEveryMs?: number;
    },
  ) {
    const { store, log, kinds } = parts;
    this.obstructions = new Obstructions(parts.clock);
    this.byKind = new Map(kinds.map((kind) => [kind.kind, kind]));
    this.index = new JobIndex((record) => this.byKind.get(record.kind)?.sharesOf?.(record) ?? []);
    const onUnreadable = (error: unknown): void => log.error({ error }, 'a job is unreadable and left alone');
    this.entries = new WatchedEntries({ store, prefix: JOBS_PREFIX, decode: jobFromEntry, onUnreadable });
    this.entries.onChange((keys) => {
      for (const key of keys) this.index.set(key, this.entries.get(key));
    });
  }

  /** An id of a kind; later ones are higher. */
  newId(kind: string): string {
    return newJobId(kind, this.parts.clock.wallMs());
  }

  /**
   * What begins a job in a transaction of its caller's: a guard that nobody has, and the change. A job that is there
   * already under the id is left as it is: the transaction is not applied.
   */
  begun(job: NewJob): { record: JobRecord; guards: Guard[]; changes: StoreChange[] } {
    const record = newJobRecord(job, this.parts.clock.wallMs());
    const key = jobPath(job.id);
    return { record, guards: [{ key, revision: 0 }], changes: [{ type: 'put', key, value: jobToValue(record) }] };
  }

  /** Begins a job. Errors: unavailable. */
  async begin(job: NewJob): Promise<JobView> {
    const { record, guards, changes } = this.begun(job);
    const result = await this.parts.store.transact(guards, changes);
    if (!result.applied) throw tooBusy();
    return this.noteBegun(record, result.revision);
  }

  /** Takes a job that began in a transaction of the caller's. */
  noteBegun(record: JobRecord, revision: number): JobView {
    this.entries.put({ key: jobPath(record.id), value: jobToValue(record), revision });
    return this.view(record);
  }

  /** Those of a kind that are not over, as they are stored; without what is unreadable. Errors: unavailable. */
  async underWay(kind: string): Promise<JobRecord[]> {
    const { entries } = await this.parts.store.list(`${JOBS_PREFIX}${kind}-`);
    return readableEntries(entries, (entry) => {
      const record = jobFromEntry(entry);
      return record.kind === kind && !isEnded(record) ? record : null;
    });
  }

  /** The same as far as this process knows: that costs no call. Errors: unavailable. */
  async underWayKnown(kind: string): Promise<JobRecord[]> {
    await this.entries.follow();
    return this.index.underWay(kind).map(({ value }) => value);
  }

  /** The last one of a kind that `is` says; null: none that is known here. */
  async latest(kind: string, is: (record: JobRecord) => boolean): Promise<JobRecord | null> {
    // While the store is away: as far as this process knows.
    await this.entries.follow().catch(() => undefined);
    return this.index.all.findLast(({ value }) => value.kind === kind && is(value))?.value ?? null;
  }

  /**
   * Changes what a job that is under way is asked for; it begins again with that, from its notes. null: it is over.
   * Errors: unavailable.
   */
  askAgain(id: string, inputOf: (input: unknown) => unknown): Promise<JobView | null> {
    return this.change(id, (record) => ({ ...record, input: inputOf(record.input) }));
  }

  async list({ is, most }: AskedJobs = ANY): Promise<JobView[]> {
    await this.entries.follow();
    const found: JobView[] = [];
    const { all } = this.index;
    for (let i = all.length - 1; i >= 0 && found.length < most; i -= 1) {
      const { value } = all[i];
      if (is(value, this.rightsOf(value))) found.push(this.view(value));
    }
    return found;
  }

  async get(id: string): Promise<JobView | null> {
    const entry = await this.parts.store.get(jobPath(id));
    return entry === null ? null : this.view(jobFromEntry(entry));
  }

  async cancel(id: string): Promise<JobView | null> {
    const job = await this.change(id, (record, kind) => {
      if (record.isGivenUp === true) return record;
      const reason = kind.uncancellable ?? kind.uncancellableAt?.(record) ?? null;
      if (reason !== null) throw new QuiverError('conflict', `job ${id} can’t be cancelled: ${reason}`);
      // One that rests is driven again, to take back what it made.
      if (kind.undo !== undefined)
        return { ...record, isGivenUp: true, state: record.state === 'paused' ? 'queued' : record.state };
      return { ...record, state: 'cancelled', since: null, waitsFor: null, endedAt: this.now() };
    });
    const record = this.entries.get(jobPath(id))?.value;
    if (job?.state === 'cancelled' && record !== undefined) this.free(record);
    return job;
  }

  pause(id: string): Promise<JobView | null> {
    return this.change(id, (record, kind) => {
      if (kind.unpausable !== undefined)
        throw new QuiverError('invalid_parameter', `job ${id} can’t be paused: ${kind.unpausable}`);
      if (record.isGivenUp === true) throw new QuiverError('conflict', `job ${id} is being cancelled`);
      const reason = record.state === 'paused' ? null : (kind.unpausableAt?.(record) ?? null);
      if (reason !== null) throw new QuiverError('conflict', `job ${id} can’t be paused: ${reason}`);
      return record.state === 'paused' ? record : { ...record, state: 'paused', since: null, waitsFor: null };
    });
  }

  resume(id: string): Promise<JobView | null> {
    return this.change(id, (record) => {
      if (record.state !== 'paused')
        throw new QuiverError('conflict', `job ${id} is not paused: it is ${record.state}`);
      return { ...record, state: 'queued' };
    });
  }

  stepOf({ isGivenUp }: JobRecord): string {
    return isGivenUp === true ? 'cancelling' : 'running';
  }

  /** Of each kind those whose turn it is; all that were given up. */
  *due(runs: Runs<JobRecord>): Iterable<Watched<JobRecord>> {
    this.forget();
    const running: JobRecord[] = [];
    for (const key of runs.running()) {
      const record = this.entries.get(key)?.value;
      if (record !== undefined && record.state !== 'paused' && record.isGivenUp !== true && !isEnded(record))
        running.push(record);
    }
    for (const key of [...this.index.givenUp]) {
      const found = this.entries.get(key);
      if (found !== null && found.value.state !== 'paused' && this.byKind.has(found.value.kind)) yield found;
    }
    for (const kind of this.byKind.values())
      yield* this.dueOf(
        kind,
        running.filter((record) => record.kind === kind.kind),
        runs,
      );
  }

  /** At most so many of each line as may run are looked at, besides those that can't begin. */
  private dueOf(kind: JobKind, running: JobRecord[], runs: Runs<JobRecord>): Watched<JobRecord>[] {
    const turns = new JobTurns(kind);
    for (const record of running) turns.noteRunning(record);
    const { obstructions } = this;
    /** Of each obstacle the one that tries again. */
    const trying = new Map<string, { found: Watched<JobRecord>; isLast: boolean }>();
    for (const line of this.index.lines(kind.kind)) {
      let { left } = turns;
      if (left === 0) break;
      const what = line.length === 0 ? null : obstructionOf(kind, line[0].value);
      const last = what === null ? null : obstructions.lastOf(what);
      if (what !== null && last !== null) {
        if (!obstructions.isDue(what)) continue;
        const found =
          line.find((one) => !last.has(one.key) && mayBegin(one, runs)) ??
          line.find((one) => last.has(one.key) && mayBegin(one, runs));
        if (found === undefined) continue;
        const isLast = last.has(found.key);
        const other = trying.get(what);
        if (other === undefined || (isLast === other.isLast ? isOlder(found, other.found) : other.isLast))
          trying.set(what, { found, isLast });
        continue;
      }
      for (const found of line) {
        if (left <= 0) break;
        if (!mayBegin(found, runs)) continue;
        turns.add(found);
        left -= 1;
      }
    }
    for (const { found } of trying.values()) turns.add(found);
    return [...turns.next()];
  }

  isOvertaken(begun: JobRecord, now: JobRecord | null): boolean {
    if (now === null || now.state === 'paused' || isEnded(now) || now.isGivenUp !== begun.isGivenUp) return true;
    return this.inputOf(now) !== this.inputOf(begun);
  }

  /** As text: whether a job is overtaken is asked at each change of any. */
  private inputOf(record: JobRecord): string {
    const known = this.inputs.get(record);
    if (known !== undefined) return known;
    const input = JSON.stringify(record.input);
    this.inputs.set(record, input);
    return input;
  }

  async run({ key }: Watched<JobRecord>, stop: AbortSignal, failures: Failures): Promise<number> {
    const { store } = this.parts;
    const entry = await store.get(key);
    if (entry === null) {
      await this.entries.refresh();
      return 0;
    }
    this.entries.put(entry);
    const record = jobFromEntry(entry);
    const kind = this.byKind.get(record.kind);
    if (kind === undefined || record.state === 'paused' || isEnded(record)) return 0;
    const leadership = this.parts.leadership();
    const owned = new OwnedEntry({ store, leadership }, key, record, entry.revision);
    const job = new DrivenJob(owned, this.parts.clock, this.parts.reportEveryMs ?? REPORT_EVERY_MS);
    try {
      if (record.isGivenUp === true) await this.end(job, kind, { state: 'cancelled' });
      else await this.work(job, kind, stop, failures);
    } catch (error) {
      // It was overtaken, or another coordinator drives now.
      if (!stop.aborted) throw error;
    } finally {
      await job.settled();
      this.entries.put(owned.entry);
    }
    return 0;
  }

  noteFailure({ key, value }: Watched<JobRecord>, error: unknown): void {
    if (error instanceof Superseded) return;
    const what = this.obstructionOf(value);
    if (what !== null && isOfOthersToo(error)) this.obstructions.noteFailure(what, key);
    void this.noteObstacle(key, obstacleOf(error)).catch(() => undefined);
  }

  rest(): void {
    this.obstructions.clear();
  }

  private async work(job: DrivenJob, kind: JobKind, stop: AbortSignal, failures: Failures): Promise<void> {
    const { record } = job;
    const { clock, log } = this.parts;
    const since = { ms: clock.wallMs(), done: record.done };
    const what = obstructionOf(kind, record);
    if (what !== null) this.obstructions.noteBegun(what, jobPath(record.id));
    // From here on, no other driver can change it by what it had read.
    const begun = kind.begunWith?.(record);
    await job.change({ state: 'running', startedAt: record.startedAt ?? this.now(), since, ...begun });
    this.entries.put(job.entry);
    try {
      const result = await kind.run(job, stop);
      await job.settled();
      if (stop.aborted) return;
      if (what !== null) this.obstructions.noteSuccess(what);
      await this.store(job, kind, { state: 'done', result });
      this.free(job.record);
    } catch (error) {
      if (stop.aborted || error instanceof Superseded) throw error;
      const isLasting = isQuiverError(error) ? !error.retryable : failures.unexpected >= UNEXPECTED_MAX;
      if (!isLasting) throw error;
      await job.settled();
      // What it works on may go at any time.
      const isGone = isQuiverError(error) && error.kind === 'not_found';
      log[isGone ? 'warn' : 'error']({ error, job: record.id }, 'a job failed');
      await this.end(job, kind, {
        state: 'failed',
        error: isQuiverError(error) ? error.message : 'it failed; the log says why',
      });
    }
  }

  private async end(
    job: DrivenJob,
    kind: JobKind,
    outcome: Pick<JobRecord, 'state'> & Partial<JobRecord>,
  ): Promise<void> {
    await kind.undo?.(job);
    await job.settled();
    await this.store(job, kind, outcome);
    this.free(job.record);
  }

  private store(job: DrivenJob, kind: JobKind, outcome: Pick<JobRecord, 'state'> & Partial<JobRecord>): Promise<void> {
    const ended = { ...outcome, step: null, since: null, waitsFor: null, endedAt: this.now() };
    return job.change(ended, kind.endedWith?.(job.record));
  }

  private free(record: JobRecord): void {
    const what = this.obstructionOf(record);
    if (what !== null) this.obstructions.noteEnded(what, jobPath(record.id));
    const freed = this.byKind.get(record.kind)?.ended?.(record);
    freed?.catch((error: unknown) =>
      this.parts.log.warn({ error, job: record.id }, 'what an ended job had is not removed yet'),
    );
  }

  private obstructionOf(record: JobRecord): string | null {
    const kind = this.byKind.get(record.kind);
    return kind === undefined ? null : obstructionOf(kind, record);
  }

  private async noteObstacle(key: string, waitsFor: string): Promise<void> {
    const { store } = this.parts;
    const entry = await store.get(key);
    if (entry === null) return;
    const record = jobFromEntry(entry);
    if (record.state !== 'running' || record.waitsFor === waitsFor) return;
    const value = jobToValue({ ...record, waitsFor, since: null });
    await store.transact([{ key, revision: entry.revision }], [{ type: 'put', key, value }]);
  }

  /** null: there is no such job, or it is over. */
  private async change(id: string, make: (record: JobRecord, kind: JobKind) => JobRecord): Promise<JobView | null> {
    const { store } = this.parts;
    const key = jobPath(id);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const entry = await store.get(key);
      const record = entry === null ? null : jobFromEntry(entry);
      if (entry === null || record === null || isEnded(record)) return null;
      const kind = this.byKind.get(record.kind);
      if (kind === undefined)
        throw new QuiverError('conflict', `job ${id} is of a kind that this version does not know`);
      const changed = make(record, kind);
      if (changed === record) return this.view(record);
      const value = jobToValue(changed);
      const others = isEnded(changed) ? (kind.endedWith?.(record) ?? []) : [];
      const result = await store.transact(
        [{ key, revision: entry.revision }],
        [{ type: 'put', key, value }, ...others],
      );
      if (!result.applied) continue;
      this.entries.put({ key, value, revision: result.revision });
      return this.view(changed);
    }
    throw tooBusy();
  }

  /** What is over is kept for a while. */
  private forget(): void {
    const { store, clock, keptMax = ENDED_KEPT_MAX } = this.parts;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.forgottenMs < FORGET_EVERY_MS) return;
    this.forgottenMs = nowMs;
    const ended = this.index.all.filter(({ value }) => isEnded(value));
    ended.sort((a, b) => ((a.value.endedAt ?? '') < (b.value.endedAt ?? '') ? 1 : -1));
    const since = new Date(clock.wallMs() - ENDED_KEPT_MS).toISOString();
    const counts = new Map<string, number>();
    const old = ended.filter(({ value: { kind, endedAt } }) => {
      const later = counts.get(kind) ?? 0;
      counts.set(kind, later + 1);
      return later >= keptMax || (endedAt ?? '') < since;
    });
    const { guard } = this.parts.leadership();
    if (guard === null) return;
    for (let at = 0; at < old.length; at += FORGOTTEN_AT_ONCE) {
      const gone = old.slice(at, at + FORGOTTEN_AT_ONCE);
      const guards = gone.map(({ key, revision }) => ({ key, revision }));
      store
        .transact(
          guards,
          gone.map(({ key }) => ({ type: 'delete', key })),
        )
        .catch(() => undefined);
    }
  }

  private view(record: JobRecord): JobView {
    return jobView(record, this.rightsOf(record), this.parts.clock.wallMs());
  }

  private rightsOf({ kind }: JobRecord): JobRights {
    return this.byKind.get(kind)?.rights ?? this.parts.rightsOf[kind] ?? { see: 'admin', change: 'admin' };
  }

  private now(): string {
    return new Date(this.parts.clock.wallMs()).toISOString();
  }
}

/** One that waits for its next attempt lets others go first. */
function mayBegin(found: Watched<JobRecord>, { isRunning, isResting }: Runs<JobRecord>): boolean {
  const { value, key } = found;
  return value.state !== 'paused' && value.isGivenUp !== true && !isRunning(key) && !isResting(found);
}

/** Whether others fail of it, too: not what only changed beside the one, or what nobody expects. */
function isOfOthersToo(error: unknown): boolean {
  if (!isQuiverError(error)) return false;
  return error.kind !== 'conflict' && !(isQuiverError(error.cause) && error.cause.kind === 'conflict');
}

/** null: nothing that others need, too. */
function obstructionOf(kind: JobKind, record: JobRecord): string | null {
  const what = kind.obstructedWith?.(record);
  return what === undefined ? null : `${kind.kind} ${what}`;
}

/** Stores reports one after the other, the last of those that came meanwhile. */
class DrivenJob implements RunningJob {
  private next: JobProgress | null = null;
  private storing: Promise<void> | null = null;
  private storedMs: number;
  readonly foundState: JobRecord['state'];

  constructor(
    private readonly owned: OwnedEntry<JobRecord>,
    private readonly clock: Clock,
    private readonly reportEveryMs: number,
  ) {
    this.storedMs = clock.monotonicMs();
    this.foundState = owned.content.state;
  }

  get record(): JobRecord {
    return this.owned.content;
  }

  get entry(): StoreEntry {
    return this.owned.entry;
  }

  report(progress: JobProgress): void {
    this.next = { ...this.next, ...progress };
    if (this.storing !== null || this.clock.monotonicMs() - this.storedMs < this.reportEveryMs) return;
    this.storing = this.note({}).then(
      () => void (this.storing = null),
      // Whoever has it now says what it is at; the next change of this run finds that out.
      () => void (this.storing = null),
    );
  }

  async note(progress: JobProgress): Promise<void> {
    const change = { waitsFor: null, ...this.next, ...progress };
    this.next = null;
    this.storedMs = this.clock.monotonicMs();
    await this.owned.change(change);
  }

  /** With what was reported and is not stored yet. */
  async change(change: Partial<JobRecord>, others: StoreChange[] = []): Promise<void> {
    const last = this.next;
    this.next = null;
    await this.owned.change({ ...last, ...change }, { guards: [], changes: others });
  }

  async settled(): Promise<void> {
    await this.storing;
  }
}

function tooBusy(): QuiverError {
  return new QuiverError('unavailable', 'the cluster store is too busy; the call may be retried');
}
