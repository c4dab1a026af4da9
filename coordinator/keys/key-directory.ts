import { timingSafeEqual } from 'node:crypto';
import type { StoreEntry, StoreEvent } from '../../shared/cluster-store/cluster-store';
import { KEYS_PREFIX, keyFromEntry, type KeyRecord } from './key-record';

/** Gets the keys of a directory, and then each change. */
export interface KeyFollower {
  put(record: KeyRecord, revision: number): void;
  remove(id: number): void;
}

interface Known {
  record: KeyRecord;
  digest: Buffer;
  /** Wall time in milliseconds from which the key is invalid; Infinity for never. */
  expiresMs: number;
  revision: number;
}

/**
 * The keys in memory, from the store's entries and from this process's own changes, in whatever order they arrive: the
 * higher revision wins. A deleted id stays deleted, because ids are never reused.
 */
export class KeyDirectory {
  private readonly followers = new Set<KeyFollower>();
  private readonly byId = new Map<number, Known>();
  /** Hexadecimal digest → the key that owns it. */
  private byDigest = new Map<string, Known>();
  private readonly deleted = new Set<number>();

  load(entries: StoreEntry[]): void {
    for (const entry of entries) this.keep(keyFromEntry(entry), entry.revision);
    this.indexDigests();
  }

  put(record: KeyRecord, revision: number): void {
    this.keep(record, revision);
    this.indexDigests();
  }

  remove(id: number): void {
    this.drop(id);
    this.indexDigests();
  }

  /** Applies changes that the store reports. */
  apply(events: StoreEvent[]): void {
    for (const event of events) {
      if (event.type === 'put') {
        this.keep(keyFromEntry(event), event.revision);
      } else {
        this.drop(Number(event.key.slice(KEYS_PREFIX.length)));
      }
    }
    this.indexDigests();
  }

  has(id: number): boolean {
    return this.byId.has(id);
  }

  /** Id and name of every key, by id. */
  names(): { id: number; name: string }[] {
    return [...this.byId.values()].map(({ record: { id, name } }) => ({ id, name })).sort((a, b) => a.id - b.id);
  }

  /**
   * The key with this digest if it is active and not expired at `wallMs`. The time of the look-up may depend on the
   * first bytes of the digest. That reveals nothing about a secret, because nobody can find secrets whose SHA-256
   * approaches a stored one. The decisive comparison takes constant time.
   */
  authenticate(digest: Buffer, wallMs: number): KeyRecord | null {
    const known = this.byDigest.get(digest.toString('hex'));
    if (known === undefined || !timingSafeEqual(known.digest, digest)) return null;
    return known.record.isActive && wallMs < known.expiresMs ? known.record : null;
  }

  /** Tells `follower` what is here, and from now on what changes. Answers what ends that. */
  follow(follower: KeyFollower): () => void {
    for (const { record, revision } of this.byId.values()) follower.put(record, revision);
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  }

  private drop(id: number): void {
    this.deleted.add(id);
    this.byId.delete(id);
    for (const follower of this.followers) follower.remove(id);
  }

  private keep(record: KeyRecord, revision: number): void {
    const known = this.byId.get(record.id);
    if (this.deleted.has(record.id) || (known !== undefined && known.revision >= revision)) return;
    const expiresMs = record.expiresAt === null ? Infinity : Date.parse(record.expiresAt);
    this.byId.set(record.id, { record, digest: Buffer.from(record.digest, 'hex'), expiresMs, revision });
    for (const follower of this.followers) follower.put(record, revision);
  }

  /** Rebuilt at every change: changes are rare, and two keys may share a secret (API_KEY may be the secret of another key). */
  private indexDigests(): void {
    const byFallingId = [...this.byId.values()].sort((a, b) => b.record.id - a.record.id);
    this.byDigest = new Map(byFallingId.map((known) => [known.record.digest, known]));
  }
}
