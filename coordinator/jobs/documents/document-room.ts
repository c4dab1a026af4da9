import type { ClusterStore, Guard, StoreChange, StoreEntry } from '../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../shared/base/time/clock';

/** `/q/document-rooms/file/<id>`: the room that a file has. */
const FILES_PREFIX = '/q/document-rooms/file/';
/** What all files have. */
const TOTAL_PATH = '/q/document-rooms/total';
/** `/q/document-rooms/of/<holder>`: what those of a holder have. */
const HOLDERS_PREFIX = '/q/document-rooms/of/';
/** Every failed attempt means that another file came or went elsewhere. */
const ATTEMPTS_MAX = 64;

export interface RoomBounds {
  filesMax: number;
  bytesMax: number;
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

  /** Takes room for a file of at most so many bytes. Errors: overloaded, and nothing is stored then; unavailable. */
  reserve(id: string, bytes: number, holders: string[]): Promise<void> {
    const atMs = this.parts.clock.wallMs();
    return this.change(id, { isNew: true }, () => ({ bytes, holders, isWhole: false, atMs }));
  }

  /** All of the file is there. Errors: unavailable. */
  fill(id: string, bytes: number): Promise<void> {
    const atMs = this.parts.clock.wallMs();
    return this.change(id, {}, (file) => file && { ...file, bytes, isWhole: true, atMs });
  }

  /** The file still comes. Errors: unavailable. */
  touch(id: string): Promise<void> {
    const atMs = this.parts.clock.wallMs();
    return this.change(id, {}, (file) => file && { ...file, atMs });
  }

  /** Gives back what a file has, if it has any. Errors: unavailable. */
  release(id: string): Promise<void> {
    return this.change(id, {}, () => null);
  }

  /** By file. Errors: unavailable. */
  async list(): Promise<Map<string, TakenRoom>> {
    const { entries } = await this.parts.store.list(FILES_PREFIX);
    return new Map(entries.map((entry) => [entry.key.slice(FILES_PREFIX.length), valueOf<TakenRoom>(entry)]));
  }

  private change(
    id: string,
    { isNew = false }: { isNew?: boolean },
    make: (file: TakenRoom | null) => TakenRoom | null,
  ): Promise<void> {
    // Those of this process do not overtake one another.
    const done = this.last.then(() => this.changeNow(id, isNew, make));
    this.last = done.catch(() => this.seen.clear());
    return done;
  }

  private async changeNow(
    id: string,
    isNew: boolean,
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
      const found = await this.sums(paths, isSure);
      const sums = found.map((sum) => (sum === null ? NOTHING : valueOf<Sum>(sum)));
      const grown = sums.map((sum) => grownBy(sum, before, after));
      if (isNew && !this.fits(sums, grown)) {
        // What was seen last may be of some time ago.
        if (isSure) throw this.full(grown);
        isSure = true;
        continue;
      }
      const guards: Guard[] = [key, ...paths].map((path, i) => ({
        key: path,
        revision: (i === 0 ? entry : found[i - 1])?.revision ?? 0,
      }));
      const changes = [changeOf(key, after), ...paths.map((path, i) => changeOf(path, grown[i]))];
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
    if (entry === null && path !== TOTAL_PATH) this.seen.delete(path);
    else this.seen.set(path, entry);
  }

  private fits([total, ...own]: Sum[], [grown, ...ownGrown]: Sum[]): boolean {
    const { filesMax, bytesMax } = this.parts.bounds;
    // One file always has room.
    if (total.files === 0) return true;
    if (grown.files > filesMax || grown.bytes > bytesMax) return false;
    return ownGrown.every(
      ({ files, bytes }, i) =>
        own[i].files === 0 || (files <= filesMax - total.files && bytes <= bytesMax - total.bytes),
    );
  }

  /** Without numbers: they would tell of the documents of other keys. */
  private full([grown]: Sum[]): QuiverError {
    const { filesMax, bytesMax } = this.parts.bounds;
    const isShare = grown.files <= filesMax && grown.bytes <= bytesMax;
    const what = isShare
      ? 'documents of this collection, or of this key, that wait to be stored have as much room as is left for all others'
      : 'documents that wait to be stored have all the room that there is for them';
    return new QuiverError('overloaded', `server busy: ${what}; add more when some are stored`);
  }
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
