import { timingSafeEqual } from 'node:crypto';
import type { StoreEntry, StoreEvent } from '../../../shared/cluster-store/cluster-store';
import { readableEntries } from '../readable-entries';
import { keyFromEntry, idOfKeyEntry, type KeyRecord } from './key-record';
import { secretDigest } from './secret';

/** Gets the keys of a directory, and then each change, with its place among all of them. */
export interface KeyFollower {
  put(record: KeyRecord, place: number): void;
  remove(id: number, place: number): void;
}

/** Secrets whose digests are remembered, on each thread. */
const REMEMBERED_MAX = 1_000;

/** More than a store's revisions in one history, so that places in a later one are higher. */
const HISTORY = 2 ** 42;

interface Known {
  record: KeyRecord;
  secrets: Secret[];
  place: number;
}

/** A secret of a key: the present one comes first, then perhaps the one before it. */
interface Secret {
  record: KeyRecord;
  digest: Buffer;
  /** Wall time in milliseconds from which it is invalid; Infinity for never. */
  expiresMs: number;
}

/**
 * The keys in memory, from the store's entries and from this process's own changes, in whatever order they arrive: the
 * higher place wins, which is the revision. A deleted id stays deleted, because ids are never reused. Where the watch
 * tells something earlier than before, the store was put back to an earlier state: what it tells from then on comes
 * after all that was known, and deleted keys may be there again.
 */
export class KeyDirectory {
  private readonly followers = new Set<KeyFollower>();
  private readonly byId = new Map<number, Known>();
  /** Hexadecimal digest → the secret. */
  private byDigest = new Map<string, Secret>();
  /**
   * Of secrets that were right, as their callers send them with every request: a digest each time is some percent of a
   * search.
   */
  private readonly bySecret = new Map<string, Secret>();
  /** With the place of the deletion. */
  private readonly deleted = new Map<number, number>();
  private readonly damaged = new Set<number>();
  /** Where the present history of the store begins among the places. */
  private base = 0;
  private watchedRevision = 0;

  /** Starts from a listing at `revision`; the watch continues from there. */
  load(entries: StoreEntry[], revision: number): void {
    for (const entry of entries) this.keepEntry(entry);
    this.watchedRevision = revision;
    this.indexDigests();
  }

  /** What this process changed. On a thread that follows another directory, the place is that one's. */
  put(record: KeyRecord, revision: number): void {
    this.keep(record, this.base + revision);
    this.indexDigests();
  }

  /** As `put`; without a place, nothing in this history comes later. */
  remove(id: number, place = this.base + HISTORY - 1): void {
    this.drop(id, place);
    this.indexDigests();
  }

  /** Applies changes that the store reports. */
  apply(events: StoreEvent[]): void {
    const wentBack = events.some(({ revision }) => revision <= this.watchedRevision);
    if (wentBack) this.base += HISTORY;
    this.watchedRevision = Math.max(...events.map(({ revision }) => revision), wentBack ? 0 : this.watchedRevision);
    for (const event of events) {
      if (event.type === 'put') this.keepEntry(event);
      else this.drop(idOfKeyEntry(event), this.base + HISTORY - 1);
    }
    this.indexDigests();
  }

  has(id: number): boolean {
    return this.byId.has(id);
  }

  /** Id and name of every key, by id. */
  names(): { id: number; name: string }[] {
    return this.records().map(({ id, name }) => ({ id, name }));
  }

  /** By id. */
  records(): KeyRecord[] {
    return [...this.byId.values()].map(({ record }) => record).sort((a, b) => a.id - b.id);
  }

  /**
   * The key with this secret if it is active and not expired at `wallMs`. The time of the look-up may depend on the
   * first bytes of the secret's digest. That reveals nothing about a secret, because nobody can find secrets whose
   * SHA-256 approaches a stored one. The decisive comparison takes constant time. A secret that was right before is
   * found by a hash that is keyed again in each process, and is compared only where all of that is equal.
   */
  authenticate(secret: string, wallMs: number): KeyRecord | null {
    const known = this.bySecret.get(secret) ?? this.find(secret);
    return known !== null && known.record.isActive && wallMs < known.expiresMs ? known.record : null;
  }

  private find(secret: string): Secret | null {
    const digest = secretDigest(secret);
    const known = this.byDigest.get(digest.toString('hex'));
    if (known === undefined || !timingSafeEqual(known.digest, digest)) return null;
    if (this.bySecret.size >= REMEMBERED_MAX) this.bySecret.clear();
    // A copy: what a header has may be a part of all that came with it, and would keep that.
    this.bySecret.set(Buffer.from(secret).toString(), known);
    return known;
  }

  /** Tells `follower` what is here, and from now on what changes. Answers what ends that. */
  follow(follower: KeyFollower): () => void {
    for (const { record, place } of this.byId.values()) follower.put(record, place);
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  }

  /** Ids of the keys whose entry can't be read. */
  unreadable(): number[] {
    return [...this.damaged].sort((a, b) => a - b);
  }

  /** What can't be read admits nobody, until it is mended. */
  private keepEntry(entry: StoreEntry): void {
    const place = this.base + entry.revision;
    const [record] = readableEntries([entry], keyFromEntry);
    if (record !== undefined) return this.keep(record, place);
    const id = idOfKeyEntry(entry);
    if (place <= (this.byId.get(id)?.place ?? -1)) return;
    this.drop(id, place);
    this.damaged.add(id);
  }

  private drop(id: number, place: number): void {
    this.damaged.delete(id);
    this.deleted.set(id, place);
    this.byId.delete(id);
    for (const follower of this.followers) follower.remove(id, place);
  }

  private keep(record: KeyRecord, place: number): void {
    if (place <= (this.byId.get(record.id)?.place ?? this.deleted.get(record.id) ?? -1)) return;
    this.deleted.delete(record.id);
    this.damaged.delete(record.id);
    this.byId.set(record.id, { record, secrets: secretsOf(record), place });
    for (const follower of this.followers) follower.put(record, place);
  }

  /**
   * Rebuilt at every change: changes are rare, and two keys may share a secret (API_KEY may be the secret of another
   * key).
   */
  private indexDigests(): void {
    const byFallingId = [...this.byId.values()].sort((a, b) => b.record.id - a.record.id);
    // Of equal ones the last counts: a present secret before an earlier one.
    const earlier = byFallingId.flatMap(({ secrets }) => secrets.slice(1));
    const present = byFallingId.map(({ secrets }) => secrets[0]);
    this.bySecret.clear();
    this.byDigest = new Map([...earlier, ...present].map((secret) => [secret.digest.toString('hex'), secret]));
  }
}

function secretsOf(record: KeyRecord): Secret[] {
  const endMs = record.expiresAt === null ? Infinity : Date.parse(record.expiresAt);
  const secrets = [{ record, digest: Buffer.from(record.digest, 'hex'), expiresMs: endMs }];
  const { previous } = record;
  if (previous !== null)
    secrets.push({
      record,
      digest: Buffer.from(previous.digest, 'hex'),
      expiresMs: Math.min(endMs, Date.parse(previous.expiresAt)),
    });
  return secrets;
}
