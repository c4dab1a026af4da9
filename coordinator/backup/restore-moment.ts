import type { BackupManifest } from '../../shared/backup/backup-format';
import type { CollectionHistory, LogHead } from '../../shared/backup/log-format';
import { isQuiverError, QuiverError } from '../../shared/errors/quiver-error';
import type { NewRestore } from '../service';
import type { BackupRepository } from './backup-repository';
import { type ShardLog, ShippedLogs, wayFrom } from './shipped-logs';

/** Of a backup that a moment is reached from, with up to which place of its log each shard is followed. */
export interface ReachedCollection {
  name: string;
  uid: string;
  record: string;
  /** The backup's id; '': the log begins with the collection. */
  base: string;
  upTo: number[];
}

/** Finds how the moment that a restore asks for is reached. */
export class RestoreMoment {
  private readonly logs: ShippedLogs;
  private heads: Map<string, LogHead> = new Map();
  private manifests: BackupManifest[] = [];

  constructor(private readonly repository: BackupRepository) {
    this.logs = new ShippedLogs(repository.target);
  }

  /** Errors: not_found, invalid_parameter; those of the target. */
  async find(input: Pick<NewRestore, 'backup' | 'collections' | 'rename'> & { until: NonNullable<NewRestore['until']> }): Promise<ReachedCollection[]> {
    const { until, backup } = input;
    this.heads = await this.logs.heads();
    this.manifests = await readable(this.repository, backup);
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
    return reached;
  }

  private async atTime(history: CollectionHistory, ms: number): Promise<ReachedCollection> {
    const logs = await this.logsOf(history);
    let reachesMs = 0;
    for (const base of this.basesOf(history)) {
      if (base.places.some((place) => place !== null && place.at > ms)) continue;
      const ways = logs.map((log, shard) => wayFrom(log, base.places[shard]));
      if (!ways.every((way) => way !== null)) continue;
      const untilMs = Math.min(...ways.map((way) => way.untilMs));
      reachesMs = Math.max(reachesMs, untilMs);
      if (ms > untilMs) continue;
      const upTo: number[] = [];
      for (const [shard, { chain }] of ways.entries()) {
        const start = base.places[shard]?.sequence ?? 0;
        upTo.push(chain === null ? start : await this.logs.cut(chain, start, ms));
      }
      // It was taken by a clock that was behind: it has entries that are later than the moment.
      if (upTo.some((cut, shard) => cut < (base.places[shard]?.sequence ?? 0))) continue;
      return { ...history, base: base.id, upTo };
    }
    throw unreachable(history, new Date(ms).toISOString(), reachesMs);
  }

  private async atPlaces(history: CollectionHistory, places: readonly number[] | undefined): Promise<ReachedCollection> {
    if (places?.length !== history.shards) throw new QuiverError('invalid_parameter', `until.positions of "${history.name}" must have a place for each of its ${history.shards} shards`);
    const logs = await this.logsOf(history);
    for (const base of this.basesOf(history)) {
      const isBefore = base.places.every((place, shard) => (place?.sequence ?? 0) <= places[shard]);
      const ways = logs.map((log, shard) => wayFrom(log, base.places[shard]));
      if (isBefore && ways.every((way, shard) => way !== null && way.last >= places[shard])) return { ...history, base: base.id, upTo: [...places] };
    }
    throw unreachable(history, `the places ${places.join(', ')}`, 0);
  }

  private logsOf({ uid, shards }: CollectionHistory): Promise<ShardLog[]> {
    return Promise.all(Array.from({ length: shards }, (_, shard) => this.logs.logOf(uid, shard, this.heads)));
  }

  /** What a log may go on from, the newest first; last the beginning of the collection. */
  private *basesOf({ uid, shards }: CollectionHistory): Generator<{ id: string; places: (NonNullable<BackupManifest['collections'][number]['shards'][number]['position']> | null)[] }> {
    for (const { id, collections } of this.manifests) {
      const found = collections.find((one) => one.uid === uid);
      const places = found?.shards.map(({ position }) => position ?? null);
      if (places?.length === shards && places.every((place) => place !== null)) yield { id, places };
    }
    yield { id: '', places: Array.from({ length: shards }, () => null) };
  }
}

/** The backups that can be read, the newest first. `only`: just this one. Errors: not_found; those of the target. */
export async function readable(repository: BackupRepository, only?: string): Promise<BackupManifest[]> {
  const found: BackupManifest[] = [];
  for (const id of only === undefined ? await repository.ids() : [only]) {
    const manifest = await repository.find(id).catch((error: unknown) => {
      if (only === undefined && isQuiverError(error) && (error.kind === 'storage_damaged' || error.kind === 'invalid_parameter')) return null;
      throw error;
    });
    if (manifest !== null) found.push(manifest);
    else if (only !== undefined) throw new QuiverError('not_found', `backup "${only}" does not exist`);
  }
  return found;
}

/** Of each name the last that there was. */
function newestOf(histories: CollectionHistory[]): CollectionHistory[] {
  return histories.filter(({ name, fromMs }) => !histories.some((other) => other.name === name && other.fromMs > fromMs));
}

function unreachable({ name }: CollectionHistory, what: string, reachesMs: number): QuiverError {
  const why =
    reachesMs > 0
      ? `it can be restored up to ${new Date(reachesMs).toISOString()}`
      : 'no backup before it is followed by its log without a gap; GET /v1/admin/backups says from when to when it can be restored';
  return new QuiverError('invalid_parameter', `collection "${name}" can not be restored to ${what}: ${why}`);
}
