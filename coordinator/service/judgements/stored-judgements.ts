import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../shared/base/time/clock';
import type { ClusterStore, StoreEntry } from '../../../shared/cluster-store/cluster-store';
import type { CollectionCatalog } from '../collections/collection-catalog';
import type { CollectionRecord } from '../collections/collection-record';
import { readableEntries } from '../readable-entries';
import type { JudgedQuery, JudgementsView } from '../judgements-service';

/** Judgements of a collection are entries under this prefix and its identity. */
const PREFIX = '/q/judgements/';
/** All of a collection's are read at once, and fit into a message of etcd's. */
export const JUDGEMENTS_MAX = 16;
export const JUDGEMENTS_BYTES_MAX = 128 * 1024;
/** Every failed attempt means that the collection was changed. */
const ATTEMPTS_MAX = 16;

/** Judged queries in the cluster store. */
export class StoredJudgements {
  constructor(
    private readonly parts: {
      store: ClusterStore;
      catalog: Pick<CollectionCatalog, 'shown' | 'readEntry'>;
      clock: Pick<Clock, 'wallMs'>;
    },
  ) {}

  /** The collection of this name, and since when its vectors are of their model. Errors: not_found; unavailable. */
  async presentOf(collection: string): Promise<Pick<CollectionRecord, 'identity' | 'vectorsSince'>> {
    const { identity, vectorsSince } = await this.parts.catalog.shown(collection);
    return { identity, vectorsSince };
  }

  /** As JudgementsService says. */
  async list(collection: string): Promise<JudgementsView[]> {
    const { identity } = await this.parts.catalog.shown(collection);
    const { entries } = await this.parts.store.list(prefixOf(identity));
    return readableEntries(entries, (entry) => viewOf(entry, judgedFromEntry(entry)));
  }

  /** With the identity of the collection, and the revision of what is stored. Errors: not_found; unavailable. */
  async find(
    collection: string,
    name: string,
  ): Promise<{ identity: string; revision: number; view: JudgementsView; judged: JudgedQuery[] }> {
    const { identity } = await this.parts.catalog.shown(collection);
    const entry = await this.parts.store.get(prefixOf(identity) + name);
    if (entry === null) throw judgementsNotFound(collection, name);
    const stored = judgedFromEntry(entry);
    return { identity, revision: entry.revision, view: viewOf(entry, stored), judged: stored.judged };
  }

  /** As JudgementsService says. */
  async put(collection: string, name: string, judged: readonly JudgedQuery[]): Promise<JudgementsView> {
    const stored = { judged: [...judged], updatedAt: new Date(this.parts.clock.wallMs()).toISOString() };
    const value = JSON.stringify({
      updated_at: stored.updatedAt,
      queries: judged.map(({ query, relevant }) => ({ query, relevant: [...relevant] })),
    });
    const bytes = Buffer.byteLength(value);
    if (bytes > JUDGEMENTS_BYTES_MAX)
      throw new QuiverError(
        'limit_exceeded',
        `the judgements take ${bytes} bytes, more than the maximum of ${JUDGEMENTS_BYTES_MAX}; part them under several names`,
      );
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const key = await this.putBeside(collection, name, value);
      if (key !== null) return viewOf({ key }, stored);
    }
    throw new QuiverError('unavailable', `collection "${collection}" changes too often; the call may be retried`);
  }

  /** The key; null: the collection was changed meanwhile. */
  private async putBeside(collection: string, name: string, value: string): Promise<string | null> {
    const { store, catalog } = this.parts;
    const { entry, record } = await catalog.readEntry(collection);
    const prefix = prefixOf(record.identity);
    const key = prefix + name;
    const others = (await store.list(prefix)).entries.filter((other) => other.key !== key);
    if (others.length >= JUDGEMENTS_MAX)
      throw new QuiverError('limit_exceeded', `a collection has at most ${JUDGEMENTS_MAX} sets of judgements`);
    // Whoever deletes the collection forgets its judgements once: none may come later.
    const beside = [{ key: entry.key, revision: entry.revision }];
    return (await store.transact(beside, [{ type: 'put', key, value }])).applied ? key : null;
  }

  /** As JudgementsService says. */
  async delete(collection: string, name: string): Promise<void> {
    const { identity, revision } = await this.find(collection, name);
    const key = prefixOf(identity) + name;
    const { applied } = await this.parts.store.transact([{ key, revision }], [{ type: 'delete', key }]);
    if (!applied) throw new QuiverError('conflict', `judgements "${name}" were changed meanwhile`);
  }

  /** Those of a collection that is gone. Errors: unavailable. */
  async forget(identity: string): Promise<void> {
    const { entries } = await this.parts.store.list(prefixOf(identity));
    if (entries.length === 0) return;
    await this.parts.store.transact(
      [],
      entries.map(({ key }) => ({ type: 'delete', key })),
    );
  }
}

export function judgementsNotFound(collection: string, name: string): QuiverError {
  return new QuiverError('not_found', `collection "${collection}" has no judgements "${name}"`);
}

function prefixOf(identity: string): string {
  return `${PREFIX}${identity}/`;
}

interface Stored {
  judged: JudgedQuery[];
  updatedAt: string;
}

function viewOf({ key }: Pick<StoreEntry, 'key'>, { judged, updatedAt }: Stored): JudgementsView {
  return {
    name: key.slice(key.lastIndexOf('/') + 1),
    queries: judged.length,
    grades: judged.reduce((sum, { relevant }) => sum + relevant.size, 0),
    updatedAt,
  };
}

/** Errors: storage_failed when the text is none. */
function judgedFromEntry({ key, value }: StoreEntry): Stored {
  try {
    const json = JSON.parse(value) as {
      updated_at: string;
      queries: { query: string; relevant: [id: string, grade: number][] }[];
    };
    return {
      judged: json.queries.map(({ query, relevant }) => ({ query, relevant: new Map(relevant) })),
      updatedAt: json.updated_at,
    };
  } catch (cause) {
    throw new QuiverError('storage_failed', `the stored judgements at ${key} are unreadable`, { cause });
  }
}
