import type { ClusterStore, Guard, StoreChange, StoreEntry } from '../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../shared/base/time/clock';

/** `/q/document-rooms/file/<id>`: the room that a file has. */
const FILES_PREFIX = '/q/document-rooms/file/';
/** What all files have. */
const TOTAL_PATH = '/q/document-rooms/total';
/** `/q/document-rooms/of/<holder>`: what those of a holder have. */
const HOLDERS_PREFIX = '/q/document-rooms/of/';
/** What all files brought to the store lately, where that is bounded; it stays when they are gone. */
const WRITTEN_PATH = '/q/documents-written';
/** `/q/documents-written/<holder>`: what those of a holder brought; it goes when the store has forgotten that. */
const WRITTEN_OF_PREFIX = '/q/documents-written/';
/** etcd keeps what is deleted for so long, or twice that (`--auto-compaction-retention`). */
export const COMPACTED_MS = 300_000;
/** Of a document, the versions of its room, turn and job: some thousand bytes in all. */
const RECORDS_BYTES = 8 * 1024;
/** More of the record of a job than those have. */
const RECORD_BYTES = 1024;
/** Of a record: when it waits, runs, stores and is over, and some between. */
const RECORD_VERSIONS = 8;
/** Sums that a process remembers. */
const SEEN_MAX = 4_096;
const DELETED_AT_ONCE = 100;
/** Every failed attempt means that another file came or went elsewhere. */
const ATTEMPTS_MAX = 64;

export interface RoomBounds {
  filesMax: number;
  bytesMax: number;
  /** Bytes that may be written to the store in five minutes and the five before; null: that is not bounded. */
  writtenMax: number | null;
}

/** The room of one file. */
export interface TakenRoom {
  /** Announced; once it is there, its own. */
  bytes: number;
  /** Whose room it is, such as a collection and a key. */
  holders: string[];
  /** Whether all of it is there. */
  isWhole: boolean;
  /** When that, or a sign that it still comes, was noted, by wall time. */
  atMs: number;
  /** Bytes that count as written for it, where these are bounded. */
  written?: number;
}

/** Of the files that an attempt to take room has to fit in with. */
interface Taken {
  total: Sum;
  /** Of its holders. */
  own: Sum[];
}

/** What was written since a time, and in the span of the same length before it. */
interface WrittenLately {
  sinceMs: number;
  bytes: number;
  before: number;
}

interface Sum {
  files: number;
  bytes: number;
}

const NOTHING: Sum = { files: 0, bytes: 0 };

/**
 * Room for files that wait, over all processes: each change of it is one transaction with the sums, so that they are
 * those of the files, whoever dies. Nobody has more than is left for all others: who comes later finds some.
 */
export class DocumentRoom {
  /** Sums as they were seen last. */
  private readonly seen = new Map<string, StoreEntry | null>();
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly parts: { store: ClusterStore; clock: Pick<Clock, 'wallMs'>; bounds: RoomBounds }) {}

  /**
   * Takes room for a file of at most so many bytes; of one that is whole, of all of it. Errors: overloaded, and nothing
   * is stored then; unavailable.
   */
  reserve(id: string, bytes: number, holders: string[], isWhole = false): Promise<void> {
    const atMs = this.parts.clock.wallMs();
    const written = this.writtenOf(packedBytes(bytes));
    return this.change(id, { isNew: true, isBounded: true }, () => ({ bytes, holders, isWhole, atMs, ...written }));
  }

  /** All of the file is there, and takes so many bytes in the store. Errors: unavailable, also where it has no room. */
  fill(id: string, bytes: number, stored = packedBytes(bytes)): Promise<void> {
    const atMs = this.parts.clock.wallMs();
    const written = this.writtenOf(stored);
    return this.change(id, {}, (file) => ({ ...mustHave(file), bytes, isWhole: true, atMs, ...written }));
  }

  /** The file still comes. Errors: unavailable, also where it has no room. */
  touch(id: string): Promise<void> {
    const atMs = this.parts.clock.wallMs();
    return this.change(id, {}, (file) => ({ ...mustHave(file), atMs }));
  }

  /** The file may have so many bytes. Errors: overloaded; unavailable, also where it has no room. */
  grow(id: string, bytes: number): Promise<void> {
    const atMs = this.parts.clock.wallMs();
    const written = this.writtenOf(packedBytes(bytes));
    return this.change(id, { isBounded: true }, (file) => ({ ...mustHave(file), bytes, atMs, ...written }));
  }

  /**
   * The record of its job takes so many bytes: with large metadata it is more than the file. Errors: overloaded;
   * unavailable, also where it has no room.
   */
  async record(id: string, bytes: number): Promise<void> {
    if (this.parts.bounds.writtenMax === null || bytes <= RECORD_BYTES) return;
    await this.change(id, { isBounded: true }, (file) => {
      const known = mustHave(file);
      const written = (known.written ?? 0) + RECORD_VERSIONS * bytes;
      return { ...known, bytes: known.bytes + bytes, written };
    });
  }

  /** Gives back what a file has, if it has any. `came`: bytes of it, where that is not all. Errors: unavailable. */
  release(id: string, came?: number): Promise<void> {
    const { written } = came === undefined ? {} : this.writtenOf(packedBytes(came));
    return this.change(id, { written }, () => null);
  }

  /** By file. Errors: unavailable. */
  async list(): Promise<Map<string, TakenRoom>> {
    const { entries } = await this.parts.store.list(FILES_PREFIX);
    return new Map(entries.map((entry) => [entry.key.slice(FILES_PREFIX.length), valueOf<TakenRoom>(entry)]));
  }

  /** Removes what holders brought where the store has forgotten that. Errors: unavailable. */
  async sweep(): Promise<void> {
    if (this.parts.bounds.writtenMax === null) return;
    const { entries } = await this.parts.store.list(WRITTEN_OF_PREFIX);
    const over = entries.filter((entry) => sumOf(this.lately(entry)) === 0);
    for (let at = 0; at < over.length; at += DELETED_AT_ONCE) {
      const some = over.slice(at, at + DELETED_AT_ONCE);
      // Where one of them has changed since, the next sweep finds the others.
      await this.parts.store.transact(
        some.map(({ key, revision }) => ({ key, revision })),
        some.map(({ key }) => ({ type: 'delete', key })),
      );
    }
  }

  private writtenOf(bytes: number): Pick<TakenRoom, 'written'> {
    return this.parts.bounds.writtenMax === null ? {} : { written: bytes + RECORDS_BYTES };
  }

  private change(
    id: string,
    how: { isNew?: boolean; isBounded?: boolean; written?: number | undefined },
    make: (file: TakenRoom | null) => TakenRoom | null,
  ): Promise<void> {
    // Those of this process do not overtake one another.
    const done = this.last.then(() => this.changeNow(id, how, make));
    this.last = done.catch(() => this.seen.clear());
    return done;
  }

  private async changeNow(
    id: string,
    {
      isNew = false,
      isBounded = false,
      written: atLast,
    }: { isNew?: boolean; isBounded?: boolean; written?: number | undefined },
    make: (file: TakenRoom | null) => TakenRoom | null,
  ): Promise<void> {
    const { store } = this.parts;
    const key = FILES_PREFIX + id;
    let entry = isNew ? null : await store.get(key);
    let isSure = false;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const before = entry === null ? null : valueOf<TakenRoom>(entry);
      const after = make(before);
      if (before === null && after === null) return;
      const { holders } = (after ?? before)!;
      const paths = [TOTAL_PATH, ...holders.map((holder) => HOLDERS_PREFIX + holder)];
      const wrote = before?.written ?? 0;
      // What a file that goes had written stays so.
      const more = (after === null ? (atLast ?? wrote) : (after.written ?? 0)) - wrote;
      const written = more === 0 ? [] : [WRITTEN_PATH, ...holders.map((holder) => WRITTEN_OF_PREFIX + holder)];
      const found = await this.sums([...paths, ...written], isSure);
      const sums = found.slice(0, paths.length).map((sum) => (sum === null ? NOTHING : valueOf<Sum>(sum)));
      const grown = sums.map((sum) => grownBy(sum, before, after));
      const lately = found.slice(paths.length).map((sum) => this.lately(sum));
      if (isBounded) {
        const others = takenOf(sums.map((sum) => grownBy(sum, before, null)));
        const tooMuch = more > 0 ? this.tooMuch(lately.map(sumOf), wrote, more) : null;
        if (tooMuch !== null || !this.fits(others, takenOf(grown))) {
          // What was seen last may be of some time ago.
          if (isSure) throw tooMuch === null ? this.full(grown[0]) : tooFast(tooMuch);
          isSure = true;
          continue;
        }
      }
      const changes = [changeOf(key, after), ...paths.map((path, i) => changeOf(path, grown[i]))];
      for (const [i, path] of written.entries()) {
        const now: WrittenLately = { ...lately[i], bytes: Math.max(0, lately[i].bytes + more) };
        paths.push(path);
        changes.push({ type: 'put', key: path, value: JSON.stringify(now) });
      }
      const guards: Guard[] = [key, ...paths].map((path, i) => ({
        key: path,
        revision: (i === 0 ? entry : found[i - 1])?.revision ?? 0,
      }));
      const result = await store.transact(guards, changes);
      if (result.applied) {
        paths.forEach((path, i) => this.see(path, entryOf(changes[i + 1], result.revision)));
        return;
      }
      const [file, ...current] = result.current;
      entry = file;
      paths.forEach((path, i) => this.see(path, current[i]));
    }
    throw new QuiverError('unavailable', 'the cluster store is too busy; the call may be retried');
  }

  /** In the span that lasts now. */
  private lately(entry: StoreEntry | null): WrittenLately {
    const nowMs = this.parts.clock.wallMs();
    if (entry === null) return { sinceMs: nowMs, bytes: 0, before: 0 };
    const { sinceMs, bytes, before } = valueOf<WrittenLately>(entry);
    // A clock may have been ahead: nothing is of a time to come.
    const spans = Math.floor((nowMs - sinceMs) / COMPACTED_MS);
    if (spans <= 0) return { sinceMs: Math.min(sinceMs, nowMs), bytes, before };
    return { sinceMs: nowMs, bytes: 0, before: spans === 1 ? bytes : 0 };
  }

  /**
   * Whose is too much where a file writes more than the `wrote` bytes it has; null: nobody's. One file always may be
   * written, however large, and nobody writes more than is left for all others, as with room.
   */
  private tooMuch(sums: number[], wrote: number, more: number): 'all' | 'own' | null {
    const { writtenMax } = this.parts.bounds;
    const [others, ...own] = sums.map((sum) => Math.max(0, sum - wrote));
    if (writtenMax === null || others === 0) return null;
    const left = writtenMax - others;
    const bytes = wrote + more;
    if (bytes > left) return 'all';
    return own.every((sum) => sum === 0 || sum + bytes <= left) ? null : 'own';
  }

  private sums(paths: string[], isFresh: boolean): Promise<(StoreEntry | null)[]> {
    return Promise.all(
      paths.map(async (path) => {
        const seen = this.seen.get(path);
        return isFresh || seen === undefined ? this.parts.store.get(path) : seen;
      }),
    );
  }

  private see(path: string, entry: StoreEntry | null): void {
    // Holders are many, and most have nothing.
    if (this.seen.size >= SEEN_MAX) this.seen.clear();
    if (entry === null && path !== TOTAL_PATH) this.seen.delete(path);
    else this.seen.set(path, entry);
  }

  private fits({ total: others, own }: Taken, { total, own: ownGrown }: Taken): boolean {
    const { filesMax, bytesMax } = this.parts.bounds;
    // One file always has room.
    if (others.files === 0) return true;
    if (total.files > filesMax || total.bytes > bytesMax) return false;
    return ownGrown.every(
      ({ files, bytes }, i) =>
        own[i].files === 0 || (files <= filesMax - others.files && bytes <= bytesMax - others.bytes),
    );
  }

  /** Without numbers: they would tell of the documents of other keys. */
  private full({ files, bytes }: Sum): QuiverError {
    const { filesMax, bytesMax } = this.parts.bounds;
    const what =
      files <= filesMax && bytes <= bytesMax
        ? 'documents of this collection, or of this key, that wait to be stored have as much room as is left for all others'
        : 'documents that wait to be stored have all the room that there is for them';
    return new QuiverError('overloaded', `server busy: ${what}; add more when some are stored`);
  }
}

function tooFast(whose: 'all' | 'own'): QuiverError {
  const what =
    whose === 'all'
      ? 'documents came faster in the last minutes than the cluster store frees what it wrote of them'
      : 'documents of this collection, or of this key, wrote as much to the cluster store in the last minutes as is ' +
        'left for all others';
  return new QuiverError('overloaded', `server busy: ${what}; add more in some minutes`);
}

function sumOf({ bytes, before }: WrittenLately): number {
  return bytes + before;
}

/** Of a file in the store, at most: four bytes of three. */
function packedBytes(bytes: number): number {
  return Math.ceil((bytes * 4) / 3);
}

function mustHave(file: TakenRoom | null): TakenRoom {
  if (file === null)
    throw new QuiverError(
      'unavailable',
      'the file came too slowly, and its room was given away; the call may be retried',
    );
  return file;
}

function takenOf([total, ...own]: Sum[]): Taken {
  return { total, own };
}

function grownBy({ files, bytes }: Sum, before: TakenRoom | null, after: TakenRoom | null): Sum {
  return {
    files: files + (after === null ? 0 : 1) - (before === null ? 0 : 1),
    bytes: bytes + (after?.bytes ?? 0) - (before?.bytes ?? 0),
  };
}

function changeOf(key: string, value: TakenRoom | Sum | null): StoreChange {
  const isNothing = value === null || ('files' in value && value.files <= 0);
  return isNothing ? { type: 'delete', key } : { type: 'put', key, value: JSON.stringify(value) };
}

function entryOf(change: StoreChange, revision: number): StoreEntry | null {
  return change.type === 'put' ? { key: change.key, value: change.value, revision } : null;
}

function valueOf<Value>({ key, value }: StoreEntry): Value {
  try {
    return JSON.parse(value) as Value;
  } catch (cause) {
    throw new QuiverError('storage_failed', `the stored room of documents at ${key} is unreadable`, { cause });
  }
}
