import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { inPool } from '../coordinator/service/collections/call-pool';
import type { CollectionCatalog } from '../coordinator/service/collections/collection-catalog';
import {
  collectionFromEntry,
  type CollectionRecord,
  collectionToValue,
} from '../coordinator/service/collections/collection-record';
import { presentSets } from '../coordinator/service/collections/present-sets';
import { readSmallFiles } from '../node/engine/kv/small-files';
import { COLLECTION_NOTE } from '../node/engine/shard/opening/shard-host';
import type { ClusterStore } from '../shared/cluster-store/cluster-store';
import { replaceFile } from '../shared/base/files/stable-folder';
import type { Logger } from '../shared/base/logs/logger';
import { SHARDS_FOLDER } from './cluster-folder';
import { isMissing } from '../shared/base/files/missing-file';

const FORMAT = 1;

/** A collection as it is noted beside its shards. `order`: a later note has a higher one. */
export interface CollectionNote {
  order: number;
  record: CollectionRecord;
}

/**
 * Keeps, beside the shards of each collection, what it takes to list it again: its record, without any key. Written in
 * the background when the collection changes.
 */
export class CollectionNotes {
  private readonly dataDir: string;
  private readonly catalog: Pick<CollectionCatalog, 'known' | 'names' | 'onChange'>;
  private readonly log: Pick<Logger, 'warn'>;
  /** By name, what is noted and where. */
  private readonly noted = new Map<string, { uid: string; value: string }>();
  private readonly changed = new Set<string>();
  private writing: Promise<void> | null = null;
  private order = 0;
  private endFollowing: () => void = () => undefined;

  constructor(options: {
    dataDir: string;
    catalog: Pick<CollectionCatalog, 'known' | 'names' | 'onChange'>;
    log: Pick<Logger, 'warn'>;
  }) {
    this.dataDir = options.dataDir;
    this.catalog = options.catalog;
    this.log = options.log;
  }

  /**
   * Brings the notes to what the catalog knows, and follows it. `uids`: of the collections that have shards on the
   * disk.
   */
  async start(uids: readonly string[]): Promise<void> {
    const read = async (uid: string): Promise<void> => {
      const note = await readCollectionNote(this.dataDir, uid);
      if (note === null) return;
      this.order = Math.max(this.order, note.order);
      const { name } = note.record;
      if (this.catalog.known(name)?.uid === uid) this.noted.set(name, { uid, value: collectionToValue(note.record) });
    };
    await inPool(uids, read, { patienceMs: Infinity });
    this.endFollowing = this.catalog.onChange((name) => this.note(name));
    for (const name of this.catalog.names()) this.note(name);
  }

  /** Resolves when everything that changed so far is noted. */
  async settled(): Promise<void> {
    await this.writing;
  }

  async close(): Promise<void> {
    this.endFollowing();
    await this.settled();
  }

  private note(name: string): void {
    this.changed.add(name);
    this.writing ??= this.writeAll();
  }

  private async writeAll(): Promise<void> {
    // Several changes in one turn of the event loop are noted once.
    await Promise.resolve();
    for (const name of this.changed) {
      this.changed.delete(name);
      await this.write(name).catch((error: unknown) =>
        this.log.warn(
          { error, collection: name },
          'what it takes to list a collection again could not be noted beside its shards',
        ),
      );
    }
    this.writing = null;
  }

  private async write(name: string): Promise<void> {
    const record = this.catalog.known(name);
    const before = this.noted.get(name);
    // Deleted, or its shards are others by now: nobody must list it again by the old ones.
    if (before !== undefined && before.uid !== record?.uid) {
      this.noted.delete(name);
      await rm(pathOf(this.dataDir, before.uid), { force: true });
    }
    if (record === null) return;
    const value = collectionToValue(record);
    if (this.noted.get(name)?.value === value) return;
    this.order += 1;
    try {
      await replaceFile(
        pathOf(this.dataDir, record.uid),
        `${JSON.stringify({ format: FORMAT, order: this.order, crc: crc32(value), record: value })}\n`,
      );
    } catch (error) {
      // Its shards are gone meanwhile.
      if (!isMissing(error)) throw error;
      return;
    }
    this.noted.set(name, { uid: record.uid, value });
  }
}

/**
 * Those folders of shards (`uids`) that belong to no collection, not even to one that is made or dropped; while nothing
 * changes. Errors: those of the store.
 */
export async function unknownShards(dataDir: string, uids: readonly string[], store: ClusterStore): Promise<string[]> {
  const { collections, others } = await presentSets(store);
  const known = new Set([...collections, ...others].map(({ uid }) => uid));
  return uids.filter((uid) => !known.has(uid)).map((uid) => join(dataDir, SHARDS_FOLDER, uid));
}

/** What is noted beside the shards of this uid; null: nothing that can be used. */
export async function readCollectionNote(dataDir: string, uid: string): Promise<CollectionNote | null> {
  try {
    const [text] = await readSmallFiles([pathOf(dataDir, uid)]);
    if (text === null) return null;
    const { format, order, crc, record: value } = JSON.parse(text.toString()) as Record<string, unknown>;
    if (format !== FORMAT || !Number.isSafeInteger(order) || typeof value !== 'string' || crc32(value) !== crc)
      return null;
    const record = collectionFromEntry({ key: pathOf(dataDir, uid), value });
    return record.uid === uid && record.state === 'ready' ? { order: order as number, record } : null;
  } catch {
    return null;
  }
}

function pathOf(dataDir: string, uid: string): string {
  return join(dataDir, SHARDS_FOLDER, uid, COLLECTION_NOTE);
}
