import { randomUUID } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type TimedLogPosition,
  type CheckedObject,
  getChecked,
  putChecked,
  type RecordSegment,
  type SavedIndex,
  sealedText,
  contentOf,
  isUnreadable,
  sha256Beside,
  type ShardManifest,
  objectsOf,
} from '../../../../shared/backup-store/backup-format';
import type { BackupTarget } from '../../../../shared/backup-store/backup-target';
import { SHARD_MANIFEST } from '../../../../shared/backup-store/content-schemas';
import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import { sequenceOfDedupBytes } from '../../../../shared/contract/writes/dedup-record';
import type { ShardBackupOrder } from '../../../../shared/contract/shard/shard-backup';
import type { ShardSpec } from '../../../../shared/contract/shard/shard-client';
import { unlessStopped } from '../../../../shared/base/time/deadline';
import type { Pace } from '../../../../shared/base/time/pace';
import type { KeyValueEntry } from '../../kv/key-value-store';
import { operationOfJournalKey, recnoOfItemKey, SPEC_KEY, VERSIONS_KEY } from '../../records/record-keys';
import { decodedRecord, type RecordStore } from '../../records/record-store';
import { specText } from '../../records/shard-format';
import { versionFromBytes } from '../../records/version-count';
import type { ShardLogger } from '../shard-options';
import { originalsBytes, SAVE_HEAD_BYTES } from '../../vector/saved-originals';
import { CHECKPOINT_FILES, type Manifest } from '../opening/checkpoint';
import type { Checkpointer } from '../opening/checkpointer';
import type { ShardCounters } from '../writing/shard-writer';
import { chooseSegments, SEGMENT_BYTES } from './chosen-segments';
import { addToLineage, lineageOf } from './lineage';
import { LiveRecnos } from './live-recnos';
import { EntryBuffer } from './numbered-entries';
import { SeenLog, sessionsToBytes } from './seen-log';

const [ITEM, JOURNAL, MARK, ORDER] = ['d', 'j', 'k', 'o'].map((letter) => letter.charCodeAt(0));

/** A checkpoint is written for a backup when the last one lacks more than this. */
const UNSAVED = { least: 1_000, share: 0.02 };

/** What a backup of a shard is made from. */
export interface BackupSource {
  id: ShardSpec;
  dim: number;
  folder: string;
  records: RecordStore;
  counters: ShardCounters;
  /** Whose log it follows; see BackupAccess. */
  log?: { of: 'replica' | 'own'; timeMs: () => Promise<number>; begin: () => Promise<void> } | undefined;
  checkpointer: Pick<Checkpointer, 'hold' | 'keepJournal' | 'write' | 'state'>;
  liveCount: () => number;
}

/** Told as it goes on. */
export interface BackupProgress {
  copiedBytes: number;
  totalBytes: number;
  items: number;
}

/**
 * Writes one shard to a target, while it is read and written: the state of one moment after the call. What the backup
 * `base` has is not written again.
 *
 * Records are immutable under their number, and numbers only rise. So those that were there before are read first,
 * without haste: later, some of them may be gone, which does no harm. Then one view of the store shows those that came
 * meanwhile, and which are there at that moment.
 */
export class ShardBackup {
  private readonly prefix: string;
  private objects = 0;
  private readonly segments: RecordSegment[] = [];

  constructor(
    private readonly source: BackupSource,
    private readonly order: ShardBackupOrder,
    private readonly parts: {
      target: BackupTarget;
      pace: Pace;
      stop: AbortSignal;
      progress: BackupProgress;
      log: Pick<ShardLogger, 'warn'>;
    },
  ) {
    const { collectionUid, shard } = source.id;
    this.prefix = `data/${order.backup}/${collectionUid}.${shard}/${randomUUID()}`;
  }

  /** Errors: those of the store and of the target; unavailable when it was stopped. */
  async run(): Promise<{
    manifest: CheckedObject;
    items: number;
    totalBytes: number;
    position: TimedLogPosition | null;
    needs: string[];
  }> {
    const { records, checkpointer, counters, liveCount, dim, folder } = this.source;
    const { unsavedChanges } = checkpointer.state;
    if (unsavedChanges > Math.max(UNSAVED.least, liveCount() * UNSAVED.share)) await checkpointer.write();
    const lineage = await lineageOf(folder);
    const { base, baseLive } = await this.usableBase(lineage);
    const before = counters.lastRecno;
    const { kept, ranges } = chooseSegments(base?.segments ?? [], {
      lastRecno: before,
      liveIn: ({ from, to }) => baseLive.countIn(from, to),
    });
    this.segments.push(...kept);
    this.parts.progress.totalBytes = kept.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { from, to } of ranges) await this.copyRecords(from, to);

    await this.source.log?.begin();
    const held = await this.view(before + 1);
    try {
      const seen = await this.readView(held.pages);
      const index = await this.index(held.manifest, held.files, base, seen.firstOperation);
      // One that nobody wrote to yet has no records, and need not get any.
      if (seen.spec !== '') await records.stabilise(seen.lastOperation);
      const live: CheckedObject[] = [];
      for await (const part of seen.live.toParts()) live.push(await this.put(part));
      this.segments.sort((a, b) => a.from - b.from);
      const content: ShardManifest = {
        lineage: await addToLineage(folder, lineage.at(-1)!),
        dim,
        spec: seen.spec || specText(this.source.id),
        versions: seen.versions,
        items: seen.live.count,
        lastRecno: this.segments.at(-1)?.to ?? 0,
        segments: this.segments,
        live,
        operation: seen.lastOperation,
        index,
        journal: seen.journal,
        ...(seen.marks.length > 0 && { marks: seen.marks }),
        ...(seen.log.place !== null && {
          log: { ...seen.log.place, gate: seen.log.gate, sessions: await this.sessions(seen.log.sessions) },
        }),
      };
      const all = objectsOf(content);
      const manifest = await this.put(sealedText(content), 'shard.json');
      if (index !== null) checkpointer.keepJournal((index.checkpoint as Manifest).operation);
      const totalBytes = all.reduce((sum, { bytes }) => sum + bytes, manifest.bytes);
      Object.assign(this.parts.progress, { totalBytes, items: seen.live.count });
      const position = seen.log.place && { ...seen.log.place, at: held.takenMs };
      return {
        manifest,
        items: seen.live.count,
        totalBytes,
        position,
        needs: [...new Set([this.order.backup, ...all.map(({ key }) => key.split('/')[1])])].sort(),
      };
    } finally {
      for (const file of held.files.values()) await file.close();
    }
  }

  private async copyRecords(from: number, to: number): Promise<void> {
    for (let next = from; next <= to;) {
      const segment = new EntryBuffer();
      // A view is not held for longer than a segment takes, so that the store can clean up meanwhile.
      reading: for await (const page of this.source.records.entries(next, to)) {
        for (const { key, value } of page) {
          segment.add(recnoOfItemKey(key), value);
          if (segment.bytes >= SEGMENT_BYTES) break reading;
        }
      }
      const { last, count, bytes } = segment;
      await this.putSegment(segment);
      if (count === 0 || bytes < SEGMENT_BYTES) return;
      next = last + 1;
    }
  }

  /** The checkpoint in force, its files, and a view of the records from `recno` on that has all since. */
  private view(recno: number): Promise<{
    manifest: Manifest | null;
    files: Map<string, FileHandle>;
    pages: AsyncIterable<KeyValueEntry[]>;
    takenMs: number;
  }> {
    const { checkpointer, folder, records } = this.source;
    return checkpointer.hold(async (inForce) => {
      const files = new Map<string, FileHandle>();
      let manifest = inForce;
      // What is open stays, whatever takes its place.
      for (const path of inForce === null ? [] : filesOf(inForce)) {
        try {
          files.set(path, await open(join(folder, path), 'r'));
        } catch (error) {
          this.leaveOutIndex(error);
          manifest = null;
        }
      }
      const pages = records.viewFrom(recno)[Symbol.asyncIterator]();
      const first = await pages.next();
      // What the view has was written before, and has no later time, whatever the clock here says.
      const takenMs = (await this.source.log?.timeMs()) ?? 0;
      async function* all(): AsyncIterable<KeyValueEntry[]> {
        try {
          for (let page = first; page.done !== true; page = await pages.next()) yield page.value;
        } finally {
          await pages.return?.();
        }
      }
      return { manifest, files, pages: all(), takenMs };
    });
  }

  private async readView(pages: AsyncIterable<KeyValueEntry[]>): Promise<{
    log: SeenLog;
    live: LiveRecnos;
    spec: string;
    versions: number | null;
    journal: CheckedObject[];
    marks: CheckedObject[];
    firstOperation: number;
    lastOperation: number;
  }> {
    const segment = new EntryBuffer();
    const entries = new EntryBuffer();
    const journal: CheckedObject[] = [];
    const held = new EntryBuffer();
    const marks: CheckedObject[] = [];
    const live = new LiveRecnos();
    const log = new SeenLog(this.source.log?.of);
    let spec = '';
    let versions: number | null = null;
    let firstOperation = 0;
    let lastOperation = 0;
    for await (const page of pages) {
      for (const { key, value } of page) {
        if (key[0] === ITEM) {
          segment.add(recnoOfItemKey(key), value);
          if (segment.bytes >= SEGMENT_BYTES) await this.putSegment(segment);
        } else if (key[0] === JOURNAL) {
          lastOperation = operationOfJournalKey(key);
          if (firstOperation === 0) firstOperation = lastOperation;
          entries.add(lastOperation, value);
          if (entries.bytes >= SEGMENT_BYTES) journal.push(await this.put(entries.take()));
        } else if (key[0] === MARK) {
          // Their order follows from them.
          held.add(sequenceOfDedupBytes(value), value);
          if (held.bytes >= SEGMENT_BYTES) marks.push(await this.put(held.take()));
        } else if (key[0] === ORDER) live.add(value.readDoubleLE(0));
        else if (key.equals(SPEC_KEY)) spec = value.toString();
        else if (key.equals(VERSIONS_KEY)) versions = decodedRecord(value, versionFromBytes);
        else log.look(key, value);
      }
      this.checkStopped();
    }
    await this.putSegment(segment);
    if (entries.count > 0) journal.push(await this.put(entries.take()));
    if (held.count > 0) marks.push(await this.put(held.take()));
    return { log, live, spec, versions, journal, marks, firstOperation, lastOperation };
  }

  /**
   * The indexes of the backup before, if the journal tells all that changed since; else those of the checkpoint in
   * force.
   */
  private async index(
    manifest: Manifest | null,
    files: Map<string, FileHandle>,
    base: ShardManifest | null,
    firstOperation: number,
  ): Promise<SavedIndex | null> {
    const reaches = (operation: number): boolean =>
      operation === 0 || (firstOperation > 0 && firstOperation <= operation);
    if (base?.index && reaches((base.index.checkpoint as Manifest).operation)) return base.index;
    if (manifest === null || !reaches(manifest.operation)) return null;
    const known = new Map(
      (base?.index?.files ?? []).flatMap(({ parts }) => parts).map((part) => [`${part.bytes} ${part.sha256}`, part]),
    );
    const saved: SavedIndex = { checkpoint: manifest, files: [] };
    for (const [path, file] of files) {
      const size = await this.savedBytes(manifest, path, files).catch((error: unknown) => this.leaveOutIndex(error));
      if (size === null) return null;
      const parts: CheckedObject[] = [];
      for (let at = 0; at < size; at += SEGMENT_BYTES) {
        const bytes = await readPart(file, at, Math.min(SEGMENT_BYTES, size - at)).catch((error: unknown) =>
          this.leaveOutIndex(error),
        );
        if (bytes === null) return null;
        parts.push(known.get(`${bytes.length} ${await sha256Beside(bytes)}`) ?? (await this.put(bytes)));
      }
      saved.files.push({ path, bytes: size, parts });
    }
    return saved;
  }

  /** How much of a file the checkpoint needs. Vectors have room for more behind them. */
  private async savedBytes({ vectors }: Manifest, path: string, files: Map<string, FileHandle>): Promise<number> {
    const save = files.get(`vectors/${vectors}`);
    if (save === undefined || !path.endsWith('.f32')) return (await files.get(path)!.stat()).size;
    const bytes = originalsBytes(await readPart(save, 0, SAVE_HEAD_BYTES));
    if (bytes === null) throw new QuiverError('storage_failed', `${vectors} is no save of a vector index`);
    return bytes;
  }

  /** Records are all that a backup needs: a restore makes the indexes from them. */
  private leaveOutIndex(error: unknown): null {
    this.parts.log.warn(
      { error, ...this.source.id, backup: this.order.backup },
      'a file of the checkpoint can not be read: the backup of the shard has no index, and a restore makes it ' +
        'from the records',
    );
    return null;
  }

  private async sessions(entries: KeyValueEntry[]): Promise<CheckedObject[]> {
    return entries.length === 0 ? [] : [await this.put(sessionsToBytes(entries))];
  }

  private async putSegment(segment: EntryBuffer): Promise<void> {
    if (segment.count === 0) return;
    const { first: from, last: to, count } = segment;
    this.segments.push({ ...(await this.put(segment.take())), from, to, count });
  }

  private async put(bytes: Buffer, name = String(this.objects)): Promise<CheckedObject> {
    this.checkStopped();
    this.objects += 1;
    const written = await this.answered(putChecked(this.parts.target, `${this.prefix}/${name}`, bytes));
    this.parts.progress.copiedBytes += bytes.length;
    this.parts.progress.totalBytes += bytes.length;
    await this.parts.pace.pay(bytes.length, this.parts.stop);
    return written;
  }

  private get(object: CheckedObject): Promise<Buffer> {
    this.checkStopped();
    return this.answered(getChecked(this.parts.target, object));
  }

  /**
   * A target that does not answer holds up nobody who stops. What it does later is of no interest: nothing names the
   * object.
   */
  private answered<Answer>(call: Promise<Answer>): Promise<Answer> {
    return unlessStopped(call, this.parts.stop, stopped);
  }

  /**
   * The backup before with the records that it has; null and none where it can't be built upon, as where something of
   * it is damaged.
   */
  private async usableBase(lineage: string[]): Promise<{ base: ShardManifest | null; baseLive: LiveRecnos }> {
    const { base: order } = this.order;
    if (order !== null) {
      try {
        const base = await this.base(order, lineage);
        const baseLive = new LiveRecnos();
        for (const part of base?.live ?? []) await baseLive.addPart(await this.get(part));
        return { base, baseLive };
      } catch (error) {
        if (!isUnreadable(error)) throw error;
        this.parts.log.warn(
          { error, ...this.source.id, backup: this.order.backup },
          'the backup before can not be built upon: the shard is written anew',
        );
      }
    }
    return { base: null, baseLive: new LiveRecnos() };
  }

  /**
   * What this shard was in the backup before; null where that is of another history. Errors: storage_damaged, where
   * something of it is gone, too.
   */
  private async base(order: CheckedObject, lineage: string[]): Promise<ShardManifest | null> {
    const { dim, counters } = this.source;
    const found = contentOf(SHARD_MANIFEST, order.key, await this.get(order));
    const isOurs =
      lineage.includes(found.lineage) &&
      found.operation <= counters.lastOperation &&
      found.lastRecno <= counters.lastRecno;
    if (!isOurs || found.dim !== dim) return null;
    await this.mustBeThere(objectsOf(found));
    return found;
  }

  /** What is named again is not read: whether its bytes are what they were, a verification tells. */
  private async mustBeThere(objects: CheckedObject[]): Promise<void> {
    const sizes = new Map<string, number>();
    const folders = new Set(objects.map(({ key }) => key.slice(0, key.lastIndexOf('/') + 1)));
    for (const folder of folders)
      for (const { key, bytes } of await this.answered(this.parts.target.list(folder))) sizes.set(key, bytes);
    const lost = objects.find(({ key, bytes }) => sizes.get(key) !== bytes);
    if (lost !== undefined)
      throw new QuiverError(
        'storage_damaged',
        `the backup is damaged: ${lost.key} ${sizes.has(lost.key) ? 'has another length' : 'is missing'}`,
      );
  }

  private checkStopped(): void {
    if (this.parts.stop.aborted) throw stopped();
  }
}

function stopped(): QuiverError {
  return new QuiverError('unavailable', 'the backup of a shard was stopped');
}

/** Paths in the shard's folder. */
function filesOf(manifest: Manifest): string[] {
  const originals = /^save-\d+-(\d+)\.index$/.exec(manifest.vectors);
  const vectors = originals === null ? [] : [`vectors/${manifest.vectors}`, `vectors/originals-${originals[1]}.f32`];
  return [...CHECKPOINT_FILES.map((name) => `checkpoint-${manifest.number}/${name}`), ...vectors];
}

async function readPart(file: FileHandle, at: number, bytes: number): Promise<Buffer> {
  const part = Buffer.allocUnsafe(bytes);
  for (let done = 0; done < bytes;) {
    const { bytesRead } = await file.read(part, done, bytes - done, at + done);
    if (bytesRead === 0) throw new QuiverError('storage_failed', 'a file of a checkpoint became shorter');
    done += bytesRead;
  }
  return part;
}
