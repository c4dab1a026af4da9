import { type BackupManifest, isUnreadable } from '../../shared/backup/backup-format';
import type { LogHead } from '../../shared/backup/log-format';
import { QuiverError } from '../../shared/errors/quiver-error';
import type { NewRestore } from '../service';
import type { BackupRepository, StoredBackup } from './backup-repository';
import { type KnownHistory, type ShardLog, ShippedLogs, wayFrom } from './shipped-logs';

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
  private heads: { all: Map<string, LogHead>; sealed: Map<string, LogHead> } = { all: new Map(), sealed: new Map() };
  private backups: StoredBackup[] = [];
  /** Whether entries that are not sealed are taken, wherever they lead on from. */
  private isTrusted = false;

  constructor(private readonly repository: BackupRepository) {
    this.logs = new ShippedLogs(repository.target);
  }

  /** `bases`: the backups among which there are those that are used. Errors: not_found, invalid_parameter; those of the target. */
  async find(
    input: Pick<NewRestore, 'backup' | 'collections' | 'rename' | 'unsealed'> & { until: NonNullable<NewRestore['until']> },
  ): Promise<{ collections: ReachedCollection[]; bases: StoredBackup[] }> {
    const { until, backup } = input;
    this.isTrusted = input.unsealed === true;
    this.heads = { all: await this.logs.heads(), sealed: await this.logs.heads(true) };
    const found = await readable(this.repository, backup);
    // What anybody could have written takes the place of nothing that this service has sealed.
    this.backups = [...found.filter(({ seal }) => seal === 'sealed'), ...found.filter(({ seal }) => seal !== 'sealed')];
    const all = await this.logs.histories();
    const byTime = typeof until === 'string';
    const ms = byTime ? Date.parse(until) : NaN;
    const names = byTime ? input.collections : (input.collections ?? Object.keys(until.positions));
    const there = byTime ? all.filter(({ fromMs, toMs }) => fromMs <= ms && (toMs === null || ms < toMs)) : newestOf(all);
    for (const name of [...(names ?? []), ...Object.keys(input.rename)]) {
      if (there.some((one) => one.name === name)) continue;
      if (byTime && all.some((one) => one.name === name)) throw new QuiverError('not_found', `collection "${name}" did not exist at ${until}, as far as is known`);
      throw new QuiverError('not_found', `nothing was shipped of collection "${name}": is BACKUP_LOG=true?`);
    }
    const wanted = there.filter(({ name }) => names === undefined || names.includes(name));
    if (wanted.length === 0) throw new QuiverError('not_found', byTime ? `no collection of ${until} is known: was BACKUP_LOG=true?` : 'until.positions names no collection');
    const reached: ReachedCollection[] = [];
    for (const history of wanted) reached.push(byTime ? await this.atTime(history, ms) : await this.atPlaces(history, until.positions[history.name]));
    return { collections: reached, bases: this.backups };
  }

  private async atTime(history: KnownHistory, ms: number): Promise<ReachedCollection> {
    const logsOf = this.logsOf(history);
    let reachesMs = 0;
    for (const base of this.basesOf(history)) {
      if (base.places.some((place) => place !== null && place.at > ms)) continue;
      const logs = await logsOf(base.isSealed);
      const ways = logs.map((log, shard) => wayFrom(log, base.places[shard]));
      if (!ways.every((way) => way !== null)) continue;
      const untilMs = Math.min(...ways.map((way) => way.untilMs));
      reachesMs = Math.max(reachesMs, untilMs);
      if (ms > untilMs) continue;
      const upTo: number[] = [];
      for (const [shard, { chain }] of ways.entries()) {
        const start = base.places[shard]?.sequence ?? 0;
        upTo.push(chain === null ? start : await usable(this.logs.cut(chain, start, ms, base.isSealed)));
      }
      // It was taken by a clock that was behind: it has entries that are later than the moment.
      if (upTo.some((cut, shard) => cut < (base.places[shard]?.sequence ?? 0))) continue;
      return { ...history, base: base.id, upTo, isSealed: base.isSealed };
    }
    throw unreachable(history, new Date(ms).toISOString(), reachesMs);
  }

  private async atPlaces(history: KnownHistory, places: readonly number[] | undefined): Promise<ReachedCollection> {
    if (places?.length !== history.shards) throw new QuiverError('invalid_parameter', `until.positions of "${history.name}" must have a place for each of its ${history.shards} shards`);
    const logsOf = this.logsOf(history);
    for (const base of this.basesOf(history)) {
      const isBefore = base.places.every((place, shard) => (place?.sequence ?? 0) <= places[shard]);
      const ways = (await logsOf(base.isSealed)).map((log, shard) => wayFrom(log, base.places[shard]));
      if (isBefore && ways.every((way, shard) => way !== null && way.last >= places[shard])) return { ...history, base: base.id, upTo: [...places], isSealed: base.isSealed };
    }
    throw unreachable(history, `the places ${places.join(', ')}`, 0);
  }

  /** Its logs with what is told of them, or with what is told by this service alone; each is looked at once. */
  private logsOf({ uid, shards }: KnownHistory): (isSealed: boolean) => Promise<ShardLog[]> {
    const found = new Map<boolean, Promise<ShardLog[]>>();
    return (isSealed) => {
      const heads = isSealed ? this.heads.sealed : this.heads.all;
      const logs = found.get(isSealed) ?? Promise.all(Array.from({ length: shards }, (_, shard) => this.logs.logOf(uid, shard, heads)));
      found.set(isSealed, logs);
      return logs;
    };
  }

  /**
   * What a log may go on from, the newest first; last the beginning of the collection. Where that is sealed, all that follows has to
   * be; where an earlier version wrote it, nothing has.
   */
  private *basesOf({
    uid,
    shards,
    isSealed,
  }: KnownHistory): Generator<{ id: string; places: (NonNullable<BackupManifest['collections'][number]['shards'][number]['position']> | null)[]; isSealed: boolean }> {
    for (const { manifest, seal } of this.backups) {
      const found = manifest.collections.find((one) => one.uid === uid);
      const places = found?.shards.map(({ position }) => position ?? null);
      if (places?.length === shards && places.every((place) => place !== null)) yield { id: manifest.id, places, isSealed: !this.isTrusted && isSealed && seal === 'sealed' };
    }
    yield { id: '', places: Array.from({ length: shards }, () => null), isSealed: !this.isTrusted && isSealed };
  }
}

/** The backups that can be read, the newest first. `only`: just this one. Errors: not_found; invalid_parameter where that one can't be read; those of the target. */
export async function readable(repository: BackupRepository, only?: string): Promise<StoredBackup[]> {
  const found: StoredBackup[] = [];
  for (const id of only === undefined ? await repository.ids() : [only]) {
    const stored = await repository.load(id).catch((error: unknown) => {
      if (!isUnreadable(error)) throw error;
      if (only === undefined) return null;
      throw new QuiverError('invalid_parameter', `backup ${only} can not be restored: ${error.message}`, { cause: error });
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
  return histories.filter(({ name, fromMs }) => !histories.some((other) => other.name === name && other.fromMs > fromMs));
}

function unreachable({ name }: KnownHistory, what: string, reachesMs: number): QuiverError {
  const why =
    reachesMs > 0
      ? `it can be restored up to ${new Date(reachesMs).toISOString()}`
      : 'no backup before it is followed by its log without a gap; GET /v1/admin/backups says from when to when it can be restored';
  return new QuiverError('invalid_parameter', `collection "${name}" can not be restored to ${what}: ${why}`);
}
