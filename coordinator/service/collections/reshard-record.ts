import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { StoreChange, StoreEntry } from '../../../shared/cluster-store/cluster-store';
import type { KeywordFields } from '../../../shared/contract/shard/keyword-fields';
import type { ShardSeed } from '../../../shared/contract/shard/shard-backup';
import type { CollectionEmbedding } from '../../models/collection-embedding';
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
 *
 * One that embeds all texts anew (`reembed`) is `ready` once its new shards have everything and were compared, and
 * follows clients until it is to switch. After it, as long as there is a way back, it is `kept`: `from` are the shards
 * that clients use, `to` those that they used before and that follow now. Going back is the same way: `sealing` and so
 * on.
 */
export type ReshardState =
  | 'seeding'
  | 'filling'
  | 'ready'
  | 'kept'
  | 'sealing'
  | 'opening'
  | 'retiring'
  | 'cancelling'
  | 'failed'
  | 'stuck';

const STATES: readonly ReshardState[] = [
  'seeding',
  'filling',
  'ready',
  'kept',
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
  /** What its vectors are of. Absent: what they are of by the collection's record. As `keywordFields`. */
  model?: SetModel | undefined;
}

/** What the vectors of a set of shards are of. */
export interface SetModel {
  dim: number;
  /** null: no text was embedded; callers gave the vectors. */
  embeddingModel: string | null;
  /** null: the model has no settings of the collection's own. */
  embedding: CollectionEmbedding | null;
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

/** With which queries the old vectors and the new ones are compared. */
export type Comparing = { sample: number } | { judged: string };

/** What a comparison found. */
export interface Compared {
  /** Queries that were asked of both. */
  queries: number;
  /** Share of the ten best by the old vectors that are among the ten best by the new ones; null: no query was asked. */
  overlap: number | null;
  /** nDCG of the ten best by the judgements; null: there are none. `before`: null: old vectors are of no model. */
  ndcg: { before: number | null; after: number } | null;
  /** On the disk, of one replica. */
  bytes: { before: number; after: number };
  /** Why less was compared than was wanted, for people; absent: nothing is missing. */
  problem?: string | undefined;
  /** Why it does not switch by itself, for people; absent: it may. */
  warning?: string | undefined;
}

/** What a reshard is for that embeds all texts anew. */
export interface Reembed {
  onNoText: 'fail' | 'drop';
  compare: Comparing;
  switch: 'manual' | 'auto';
  /** How long after the switch there is a way back; 0: there is none. */
  keepHours: number;
  /** It rests until somebody resumes it. */
  isPaused?: boolean | undefined;
  /** When it was resumed last, in wall time, and how many items were copied by then. */
  since?: { ms: number; copied: number } | undefined;
  /** Somebody asked for it, and it is not done. */
  wanted?: 'switch' | 'back' | undefined;
  /** It is on its way back, or can be: `to` are the shards of before. */
  isBack?: boolean | undefined;
  /** Every item has a text, by a look before any was embedded. */
  isChecked?: boolean | undefined;
  /** Items without a text that were left out. */
  dropped: number;
  compared?: Compared | undefined;
  /** ISO 8601, UTC; absent: it has not switched. */
  switchedAt?: string | undefined;
  /** Until when there is a way back, in milliseconds of wall time. */
  keptUntil?: number | undefined;
  /** There is no way back any more: shards may have forgotten what changed. */
  isEnding?: boolean | undefined;
  /** Ids of items that the model of before can't make a vector of: they are missing in the shards of before. */
  unmade?: readonly string[] | undefined;
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
  /** Texts are embedded by the model of `to`. Absent: vectors are copied. */
  reembed?: Reembed | undefined;
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

/** The kind of the job that a reshard is. */
export function reshardKind(record: Pick<ReshardRecord, 'to' | 'reembed'>): 'reembed' | 'reindex' | 'reshard' {
  return record.reembed !== undefined ? 'reembed' : isReindex(record) ? 'reindex' : 'reshard';
}

/** The job of a reshard. */
export function reshardJobId(record: Pick<ReshardRecord, 'id' | 'to' | 'reembed'>): string {
  return `${reshardKind(record)}-${record.id}`;
}

/** Whether shards of it exist or may exist beside those of the collection. */
export function isUnderWay({ state }: ReshardRecord): boolean {
  return state !== 'failed';
}

/** Whether its new shards are to be placed, and their lost replicas replaced. */
export function getsShards({ state }: ReshardRecord): boolean {
  return state !== 'retiring' && state !== 'cancelling' && state !== 'failed';
}

/**
 * Whether nobody can have written to its new shards: that begins with what the old ones hold when they note their
 * changes.
 */
export function isUntouched({ state, restored, sources }: ReshardRecord): boolean {
  return state === 'filling' && restored === undefined && sources.every(({ since }) => since === 0);
}

/** Whether it can be given up. */
export function isCancellable({ state, reembed }: ReshardRecord): boolean {
  if (reembed?.isBack === true) return false;
  return state === 'seeding' || state === 'filling' || state === 'ready' || state === 'sealing' || state === 'stuck';
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
export function ofSet(collection: CollectionRecord, { uid, shards, keywordFields, model }: ShardSet): CollectionRecord {
  return {
    ...collection,
    uid,
    shards,
    ...(keywordFields !== undefined && { keywordFields: keywordFields ?? undefined }),
    ...(model !== undefined && {
      dim: model.dim,
      embeddingModel: model.embeddingModel,
      embedding: model.embedding ?? undefined,
    }),
  };
}

/** What the vectors of a collection are of. */
export function modelOf({ dim, embeddingModel, embedding }: CollectionRecord): SetModel {
  return { dim, embeddingModel, embedding: embedding ?? null };
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
