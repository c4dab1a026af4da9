import { isUnreadable } from '../../../shared/backup-store/backup-format';
import { wasInUse } from '../../../shared/backup-store/log-format';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { NewRestore } from '../../service/service';
import type { BackupRepository, StoredBackup } from '../backup/backup-repository';
import { bySuccession, keptMoments, type LogBase } from '../backup/kept-moments';
import { beginningOf, reachFrom } from './restorable';
import { type KnownHistory, type ShardLog, ShippedLogs, type ReportedLogs } from '../backup/shipped-logs';

const NOTHING_REPORTED: ReportedLogs = { heads: new Map(), stages: new Map() };

/** Of a backup that a moment is reached from, with up to which place of its log each shard is followed. */
export interface ReachedCollection {
  name: string;
  uid: string;
  record: string;
  /** The backup's id; '': the log begins with the collection. */
  base: string;
  upTo: number[];
  /** Whether all that leads there is sealed by this service, so that entries which are not are refused. */
  isSealed: boolean;
}

/** Finds how the moment that a restore asks for is reached. */
export class RestoreMoment {
  private readonly logs: ShippedLogs;
  private reported: { all: ReportedLogs; sealed: ReportedLogs } = { all: NOTHING_REPORTED, sealed: NOTHING_REPORTED };
  private backups: StoredBackup[] = [];
  /** Whether entries that are not sealed are taken, wherever they lead on from. */
  private isTrusted = false;

  constructor(private readonly repository: BackupRepository) {
    this.logs = new ShippedLogs(repository.target);
  }

  /**
   * `bases`: the backups among which there are those that are used. Errors: not_found, invalid_parameter; those of the
   * target.
   */
  async find(
    input: Pick<NewRestore, 'backup' | 'collections' | 'rename' | 'unsealed'> & {
      until: NonNullable<NewRestore['until']>;
    },
  ): Promise<{ collections: ReachedCollection[]; bases: StoredBackup[] }> {
    const { until, backup } = input;
    this.isTrusted = input.unsealed === true;
    this.reported = { all: await this.logs.reported(), sealed: await this.logs.reported(true) };
    const found = await readable(this.repository, backup);
    // What anybody could have written takes the place of nothing that this service has sealed.
    this.backups = [...found.filter(({ seal }) => seal === 'sealed'), ...found.filter(({ seal }) => seal !== 'sealed')];
    const all = (await this.logs.histories()).sort((a, b) => bySuccession(b, a));
    const byTime = typeof until === 'string';
    const ms = byTime ? Date.parse(until) : NaN;
    const names = byTime ? input.collections : (input.collections ?? Object.keys(until.positions));
    const there = byTime ? all.filter((history) => wasInUse(history, ms)) : newestOf(all);
    for (const name of [...(names ?? []), ...Object.keys(input.rename)]) {
      if (there.some((one) => one.name === name)) continue;
      if (byTime && all.some((one) => one.name === name))
        throw new QuiverError('not_found', `collection "${name}" did not exist at ${until}, as far as is known`);
      throw new QuiverError('not_found', `nothing was shipped of collection "${name}": is BACKUP_LOG=true?`);
    }
    const wanted = [...new Set(there.map(({ name }) => name))]
      .filter((name) => names === undefined || names.includes(name))
      .sort();
    if (wanted.length === 0)
      throw new QuiverError(
        'not_found',
        byTime ? `no collection of ${until} is known: was BACKUP_LOG=true?` : 'until.positions names no collection',
      );
    const reached: ReachedCollection[] = [];
    const setsOf = new Map<string, KnownHistory[]>(wanted.map((name) => [name, []]));
    for (const history of there) setsOf.get(history.name)?.push(history);
    for (const [name, sets] of setsOf) {
      reached.push(byTime ? await this.atTime(sets, ms) : await this.atPlaces(sets[0], until.positions[name]));
    }
    return { collections: reached, bases: this.backups };
  }

  /**
   * `sets`: those of one name that were there at that time, the last one first. There are several only where a clock
   * was set: then the last one counts that reaches so far.
   */
  private async atTime(sets: readonly KnownHistory[], ms: number): Promise<ReachedCollection> {
    let reachesMs = 0;
    for (const history of sets) {
      const logsOf = this.logsOf(history);
      for (const base of this.basesOf(history)) {
        const reach = reachFrom(base, history, await logsOf(base.isSealed));
        if (reach === null || ms < reach.fromMs) continue;
        reachesMs = Math.max(reachesMs, reach.untilMs);
        if (ms > reach.untilMs) continue;
        const upTo: number[] = [];
        for (const [shard, { chain }] of reach.ways.entries()) {
          const start = base.places[shard]?.sequence ?? 0;
          upTo.push(chain === null ? start : await usable(this.logs.cut(chain, start, ms, base.isSealed)));
        }
        // It was taken by a clock that was behind: it has entries that are later than the moment.
        if (upTo.some((cut, shard) => cut < (base.places[shard]?.sequence ?? 0))) continue;
        return { ...history, base: base.id, upTo, isSealed: base.isSealed };
      }
    }
    throw unreachable(sets[0], new Date(ms).toISOString(), reachesMs);
  }

  private async atPlaces(history: KnownHistory, places: readonly number[] | undefined): Promise<ReachedCollection> {
    if (places?.length !== history.shards)
      throw new QuiverError(
        'invalid_parameter',
        `until.positions of "${history.name}" must have a place for each of its ${history.shards} shards`,
      );
    const logsOf = this.logsOf(history);
    for (const base of this.basesOf(history)) {
      const isBefore = base.places.every((place, shard) => (place?.sequence ?? 0) <= places[shard]);
      const ways = isBefore ? reachFrom(base, history, await logsOf(base.isSealed))?.ways : undefined;
      if (ways?.every((way, shard) => way.last >= places[shard]))
        return { ...history, base: base.id, upTo: [...places], isSealed: base.isSealed };
    }
    throw unreachable(history, `the places ${places.join(', ')}`, 0);
  }

  /** Its logs with what is told of them, or with what is told by this service alone; each is looked at once. */
  private logsOf({ uid, shards }: KnownHistory): (isSealed: boolean) => Promise<ShardLog[]> {
    const found = new Map<boolean, Promise<ShardLog[]>>();
    return (isSealed) => {
      const reported = isSealed ? this.reported.sealed : this.reported.all;
      const logs =
        found.get(isSealed) ??
        Promise.all(Array.from({ length: shards }, (_, shard) => this.logs.logOf(uid, shard, reported)));
      found.set(isSealed, logs);
      return logs;
    };
  }

  /**
   * What a log may go on from, the newest first; last the beginning of the set, be it kept or only still there. Where
   * that is sealed, all that follows has to be; where an earlier version wrote it, nothing has.
   */
  private basesOf(history: KnownHistory): (LogBase & { isSealed: boolean })[] {
    const isSealed = !this.isTrusted && history.isSealed;
    const seals = new Map(this.backups.map(({ manifest, seal }) => [manifest.id, seal]));
    const { backups } = keptMoments(
      history,
      [],
      this.backups.map(({ manifest }) => manifest),
    );
    const whole = backups.filter(({ places }) => places.every((place) => place !== null));
    return [
      ...whole.map((base) => ({ ...base, isSealed: isSealed && seals.get(base.id) === 'sealed' })),
      { ...beginningOf(history), isSealed },
    ];
  }
}

/**
 * The backups that can be read, the newest first. `only`: just this one. Errors: not_found; invalid_parameter where
 * that one can't be read; those of the target.
 */
export async function readable(repository: BackupRepository, only?: string): Promise<StoredBackup[]> {
  const found: StoredBackup[] = [];
  for (const id of only === undefined ? await repository.ids() : [only]) {
    const stored = await repository.load(id).catch((error: unknown) => {
      if (!isUnreadable(error)) throw error;
      if (only === undefined) return null;
      throw new QuiverError('invalid_parameter', `backup ${only} can not be restored: ${error.message}`, {
        cause: error,
      });
    });
    if (stored !== null) found.push(stored);
    else if (only !== undefined) throw new QuiverError('not_found', `backup "${only}" does not exist`);
  }
  return found;
}

/** Damage of the target is nothing of this service's. Errors: invalid_parameter in its place. */
async function usable<Result>(work: Promise<Result>): Promise<Result> {
  return work.catch((error: unknown) => {
    throw isUnreadable(error) ? new QuiverError('invalid_parameter', error.message, { cause: error }) : error;
  });
}

/** Of each name the last that there was. */
function newestOf(histories: KnownHistory[]): KnownHistory[] {
  const newest = new Map<string, KnownHistory>();
  for (const history of histories) {
    const known = newest.get(history.name);
    if (known === undefined || bySuccession(history, known) > 0) newest.set(history.name, history);
  }
  return histories.filter((history) => bySuccession(history, newest.get(history.name)!) === 0);
}

function unreachable({ name }: KnownHistory, what: string, reachesMs: number): QuiverError {
  const why =
    reachesMs > 0
      ? `it can be restored up to ${new Date(reachesMs).toISOString()}`
      : 'no backup before it is followed by its log without a gap; GET /v1/admin/backups says from when to when it can be restored';
  return new QuiverError('invalid_parameter', `collection "${name}" can not be restored to ${what}: ${why}`);
}
