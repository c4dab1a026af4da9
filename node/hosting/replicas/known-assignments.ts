import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  assignmentFromEntry,
  isLaterAssignment,
  type KnownAssignment,
} from '../../../shared/cluster-store/entries/shard-assignment';
import { shardKey } from '../../../shared/cluster-store/entries/members';
import type { Logger } from '../../../shared/base/logs/logger';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import { makeStableFolder, replaceFile } from '../../../shared/base/files/stable-folder';

const FILE_NAME = /^([A-Za-z0-9-]{1,64})\.(\d{1,9})\.map$/;

/**
 * The latest assignment of each shard that this node held when it learnt it, on the disk beside the stores' ids
 * (`stores/<collection uid>.<shard>.map`). A cluster store that was restored from a backup says something earlier; by
 * that, a node must remove nothing, and begin nothing again. What is known of a shard stays when its data have moved
 * away, until its collection is dropped.
 *
 * It is written in the background, a moment after it was learnt: a crash in between costs the latest change. The epoch
 * that a replica promised is in its log, too, and is stored before anything is done in it.
 */
export class KnownAssignments {
  /** By shardKey, what is known where the shard map holds something earlier. */
  private readonly behind = new Map<string, KnownAssignment>();
  private readonly unwritten = new Set<string>();
  private writing: Promise<void> | null = null;

  private constructor(
    private readonly folder: string,
    /** By shardKey. */
    private readonly known: Map<string, KnownAssignment>,
    private readonly log: Logger,
  ) {}

  /** `folder`: that of the node. A file that can't be read counts as missing. Errors: those of the file system. */
  static async load(folder: string, log: Logger): Promise<KnownAssignments> {
    const stores = join(folder, 'stores');
    await makeStableFolder(stores);
    const known = new Map<string, KnownAssignment>();
    for (const name of await readdir(stores)) {
      const match = FILE_NAME.exec(name);
      if (match === null) continue;
      try {
        const { assignment, revision } = JSON.parse(await readFile(join(stores, name), 'utf8')) as {
          assignment: unknown;
          revision: number;
        };
        known.set(shardKey({ collectionUid: match[1], shard: Number(match[2]) }), {
          assignment: assignmentFromEntry({ key: name, value: JSON.stringify(assignment) }),
          revision,
        });
      } catch (error) {
        log.warn({ error, file: name }, 'what this node knew of a shard is unreadable');
      }
    }
    return new KnownAssignments(stores, known, log);
  }

  of(id: ShardId): KnownAssignment | null {
    return this.known.get(shardKey(id)) ?? null;
  }

  /** The later of what the shard map holds of a shard, `found`, and what is known of it: that by which to act. */
  judge(found: KnownAssignment): KnownAssignment {
    const { spec, epoch } = found.assignment;
    const key = shardKey(spec);
    const known = this.known.get(key);
    if (known === undefined || !isLaterAssignment(known, found)) {
      if (this.behind.delete(key))
        this.log.info({ ...spec, epoch }, 'the shard map is no longer earlier than what this node knows of a shard');
      return found;
    }
    if (!this.behind.has(key)) {
      const facts = {
        ...spec,
        epoch,
        revision: found.revision,
        knownEpoch: known.assignment.epoch,
        knownRevision: known.revision,
      };
      this.log.error(
        facts,
        'the shard map is earlier than what this node knows of a shard: the cluster store was put back; what is ' +
          'known stays in force here, and no data are removed',
      );
    }
    this.behind.set(key, known);
    return known;
  }

  /** What is known of the shards for which the map holds something earlier. */
  later(): KnownAssignment[] {
    return [...this.behind.values()];
  }

  /** Remembers what the cluster store says of a shard that this node holds, unless a later one is known. */
  learn(found: KnownAssignment): void {
    const key = shardKey(found.assignment.spec);
    const known = this.known.get(key);
    if (known !== undefined && !isLaterAssignment(found, known)) return;
    this.known.set(key, found);
    this.unwritten.add(key);
    this.writing ??= this.write();
  }

  /** Everything learnt so far is on the disk when it resolves, or was logged not to be. */
  async settled(): Promise<void> {
    await this.writing;
  }

  /** The shard's collection was dropped. */
  async forget(id: ShardId): Promise<void> {
    this.behind.delete(shardKey(id));
    if (!this.known.delete(shardKey(id))) return;
    await this.writing;
    await rm(this.fileOf(id), { force: true });
  }

  /** The shards of which anything is known. */
  shards(): ShardId[] {
    return [...this.known.values()].map(({ assignment }) => assignment.spec);
  }

  /** One file at a time: a node that is lost changes many shards at once, and clients' writes need the disk, too. */
  private async write(): Promise<void> {
    // Several changes of a shard in one turn of the event loop are written once.
    await Promise.resolve();
    for (const key of this.unwritten) {
      this.unwritten.delete(key);
      const found = this.known.get(key);
      if (found === undefined) continue;
      // After a power cut, the folder may still name the previous file. That is only a little older.
      await replaceFile(this.fileOf(found.assignment.spec), `${JSON.stringify(found)}\n`).catch((error: unknown) =>
        this.log.warn({ error, shard: key }, 'what this node knows of a shard could not be stored'),
      );
    }
    this.writing = null;
  }

  private fileOf({ collectionUid, shard }: ShardId): string {
    return join(this.folder, `${collectionUid}.${shard}.map`);
  }
}
