import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { StoreChange, StoreEntry } from '../../../shared/cluster-store/cluster-store';
import type { KeywordFields } from '../../../shared/contract/shard/keyword-fields';
import type { ShardSeed } from '../../../shared/contract/shard/shard-backup';
import type { StopWords } from '../synonyms/own-stop-words';
import type { SynonymRule } from '../synonyms/synonym-rules';
import { type CollectionRecord, type DropIntent, dropPath, dropToValue } from './collection-record';

/** Every reshard under way, or failed, is one entry under this prefix, with the identity of its collection. */
export const RESHARDS_PREFIX = '/q/reshards/';

/**
 * What a reshard is about (docs/architecture/resharding.md):
 *
 *   filling ──▶ sealing ──▶ opening ──the collection's record is changed──▶ retiring ──▶ (none)
 *      ▲           │
 *      ├───────────┘ takes too long
 *      ▼
 *   cancelling ──▶ (none), or failed       stuck: the cluster store was put back to before what the shards know
 *
 * One that puts a backup into a collection that is empty (`restored`) begins as `seeding`, in the hands of the restore:
 * its new shards are filled from the backup. Then it is `filling` without anything to copy.
 *
 * `filling`: items are copied, clients use the old shards. `sealing`: those take no writes any more, and then no reads.
 * `opening`: the new shards have everything, and are about to take over; there is no way back. `retiring`: they have
 * taken over, and the old ones stay for those who have not heard of it. `cancelling`: the old ones are being opened
 * again.
 */
export type ReshardState =
  | 'seeding'
  | 'filling'
  | 'sealing'
  | 'opening'
  | 'retiring'
  | 'cancelling'
  | 'failed'
  | 'stuck';

const STATES: readonly ReshardState[] = [
  'seeding',
  'filling',
  'sealing',
  'opening',
  'retiring',
  'cancelling',
  'failed',
  'stuck',
];

/** A set of shards: their uid, and their number. */
export interface ShardSet {
  uid: string;
  shards: number;
  /**
   * What keyword search looks in there; null: all strings. Absent: what it looks in by the collection's record. Where a
   * reshard is there to change it, both sets say theirs.
   */
  keywordFields?: KeywordFields | null | undefined;
}

/** What takes the place of a collection's shards that are empty. */
export interface RestoredSet {
  /** The restore that fills it. */
  restore: string;
  /** What its shards are made with, until they have it. */
  seed: Omit<ShardSeed, 'shards'>;
  replicas: number;
  minInSync: number;
  /** The model of its texts; null: it has none. */
  embeddingModel: string | null;
  /** For a collection that has none once the new shards take over. */
  synonyms?: readonly SynonymRule[] | undefined;
  stopWords?: StopWords | undefined;
}

/** How much of an old shard is in the new ones. */
export interface SourceProgress {
  /** The term in which the shard began to track what these figures rest on; 0: nothing counts yet. */
  since: number;
  /** The last item that was copied, in the order of insertion. */
  after: { stamp: number; externalId: string } | null;
  /**
   * The highest stamp when it began to track: what came later is noted as a change. Missing from records of earlier
   * versions.
   */
  until?: number | undefined;
  /** All items were copied once. */
  isCopied: boolean;
  /** Changes up to this one are in the new shards. */
  change: number;
}

export interface ReshardRecord {
  /** Random; its shards know it by this. */
  id: string;
  /** The collection. */
  identity: string;
  name: string;
  from: ShardSet;
  to: ShardSet;
  /** Sets before `from`, which a reshard left that was retiring when this one began: they go with it. */
  earlier: ShardSet[];
  replicas: number;
  /**
   * The new shards have what a backup has, and the old ones must have no item when they are sealed. Absent: they are
   * copied.
   */
  restored?: RestoredSet | undefined;
  state: ReshardState;
  /** Rises whenever somebody begins or goes on to drive it. */
  term: number;
  /** Of `sealing`: it was in vain, and the old shards are to serve again before anything else is done. */
  unseals?: boolean | undefined;
  /** The old shards are not sealed again before, in milliseconds of wall time. */
  sealsAfter?: number | undefined;
  /** ISO 8601, UTC. */
  startedAt: string;
  /** Why it is given up; null: somebody wanted that, or it is not. */
  error: string | null;
  /** What the last attempt met, for people; absent: it gets on. */
  waitsFor?: string | undefined;
  /** By the number of the old shard. */
  sources: SourceProgress[];
  /** Items copied so far, and how many there were when it began; changes that wait. */
  copied: number;
  total: number;
  behind: number;
}

export const NOTHING_COPIED: SourceProgress = { since: 0, after: null, isCopied: false, change: 0 };

export function reshardPath(identity: string): string {
  return RESHARDS_PREFIX + identity;
}

/** Whether it is there to have another keyword index made beside the present one. */
export function isReindex({ to }: Pick<ReshardRecord, 'to'>): boolean {
  return to.keywordFields !== undefined;
}

/** The job of a reshard. */
export function reshardJobId(record: Pick<ReshardRecord, 'id' | 'to'>): string {
  return `${isReindex(record) ? 'reindex' : 'reshard'}-${record.id}`;
}

/** Whether shards of it exist or may exist beside those of the collection. */
export function isUnderWay({ state }: ReshardRecord): boolean {
  return state !== 'failed';
}

/** Whether its new shards are to be placed, and their lost replicas replaced. */
export function getsShards({ state }: ReshardRecord): boolean {
  return state === 'seeding' || state === 'filling' || state === 'sealing' || state === 'opening' || state === 'stuck';
}

/**
 * Whether nobody can have written to its new shards: that begins with what the old ones hold when they note their
 * changes.
 */
export function isUntouched({ state, restored, sources }: ReshardRecord): boolean {
  return state === 'filling' && restored === undefined && sources.every(({ since }) => since === 0);
}

/** Whether it can be given up. */
export function isCancellable({ state }: ReshardRecord): boolean {
  return state === 'seeding' || state === 'filling' || state === 'sealing' || state === 'stuck';
}

/** The sets of shards that exist beside that of the collection: what is to be dropped when it is over. */
export function otherSets({ state, name, replicas, from, to, earlier, restored }: ReshardRecord): DropIntent[] {
  if (state === 'failed') return [];
  const other = state === 'retiring' ? { ...from, replicas } : { ...to, replicas: restored?.replicas ?? replicas };
  return [other, ...earlier.map((set) => ({ ...set, replicas }))].map((set) => ({ ...set, name }));
}

/** Leaves the intents to drop them. */
export function dropChanges(reshard: ReshardRecord): StoreChange[] {
  return otherSets(reshard).map((intent) => ({ type: 'put', key: dropPath(intent.uid), value: dropToValue(intent) }));
}

/** What the collection is with these shards. */
export function ofSet(collection: CollectionRecord, { uid, shards, keywordFields }: ShardSet): CollectionRecord {
  const record = { ...collection, uid, shards };
  return keywordFields === undefined ? record : { ...record, keywordFields: keywordFields ?? undefined };
}

/** What the collection is with its new shards. */
export function resharded(
  collection: CollectionRecord,
  { to, restored }: Pick<ReshardRecord, 'to' | 'restored'>,
): CollectionRecord {
  const record = ofSet(collection, to);
  if (restored === undefined) return record;
  const { replicas, minInSync, embeddingModel } = restored;
  return { ...record, replicas, minInSync, embeddingModel: collection.embeddingModel ?? embeddingModel };
}

/**
 * The same while its new shards are made. Only as long as they are filled from a backup, one that is new may begin with
 * that.
 */
export function reshardedToBe(collection: CollectionRecord, reshard: ReshardRecord): CollectionRecord {
  const record = resharded(collection, reshard);
  return reshard.state === 'seeding' && reshard.restored !== undefined
    ? { ...record, seed: reshard.restored.seed }
    : record;
}

export function reshardToValue(record: ReshardRecord): string {
  return JSON.stringify(record);
}

/** Errors: storage_failed when the text is not a reshard. */
export function reshardFromEntry(entry: Pick<StoreEntry, 'key' | 'value'>): ReshardRecord {
  try {
    const record = JSON.parse(entry.value) as ReshardRecord;
    if (
      typeof record.to.uid === 'string' &&
      typeof record.from.uid === 'string' &&
      STATES.includes(record.state) &&
      Array.isArray(record.sources)
    )
      return record;
  } catch (cause) {
    throw unreadable(entry, cause);
  }
  throw unreadable(entry);
}

function unreadable(entry: Pick<StoreEntry, 'key'>, cause?: unknown): QuiverError {
  return new QuiverError('storage_failed', `the stored reshard at ${entry.key} is unreadable`, { cause });
}
