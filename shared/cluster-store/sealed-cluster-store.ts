import { isQuiverError, QuiverError } from '../base/errors/quiver-error';
import type { Logger } from '../base/logs/logger';
import { CheckedSeals } from '../base/secret/checked-seals';
import type { EntrySeal } from '../base/secret/entry-seal';
import type { ClusterStore, Guard, StoreChange, StoreEntry, StoreEvent, TransactionResult } from './cluster-store';
import type { SessionStore, StoreSession } from './session-store';

/** `required`: an entry without a seal counts as absent. `adopt`: it counts, and `sealAll` seals it. */
export type SealRule = 'required' | 'adopt';

/**
 * How many refused entries are remembered, so that each is reported only once. Beyond this number an entry may be
 * reported again.
 */
const REFUSALS_KEPT = 4_096;
/**
 * A transaction that finds forged entries at its keys is repeated so that it overwrites them. It gives up when somebody
 * keeps forging between the attempts.
 */
const ATTEMPTS_MAX = 4;
/** Entries sealed in one transaction: etcd accepts 128 changes, and a request of 1.5 MiB. */
const SEALED_AT_ONCE = 32;
const SEALED_LENGTH_AT_ONCE = 256 * 1024;

const UNSEALED =
  'the entries of the cluster store carry no seals: an earlier version wrote them. Stop all members and start them with CLUSTER_SEALS=adopt, if nobody else could write to etcd';
const OF_ANOTHER =
  'in the cluster store is sealed under another secret. If CLUSTER_SECRET was changed before all entries were sealed anew, set CLUSTER_SECRET_OTHER to the one before; if somebody else wrote it, restore it from a backup of etcd';
const OTHER_SECRET =
  'the entries of the cluster store are sealed under another secret: CLUSTER_SECRET is not that of this cluster';

/**
 * A cluster store whose entries carry seals (EntrySeal), over a store that others can write to. It seals every value
 * that is put. An entry whose seal is missing or wrong counts as absent: lists leave it out, a watch reports it as
 * deleted, and a put that expects no entry at its key overwrites it. Callers see values without seals.
 *
 * A seal says who made an entry and for which key, but not when. Somebody who has a copy of an earlier entry of the
 * same key and can write to the store can put it back.
 */
export class SealedClusterStore implements ClusterStore, SessionStore {
  private readonly inner: ClusterStore & SessionStore;
  private readonly seal: EntrySeal;
  private readonly checked: CheckedSeals;
  private readonly rule: SealRule;
  private readonly log: Logger;
  private readonly onRefused: () => void;
  /** By key, the revision of the refused entry that was last reported. */
  private readonly refused = new Map<string, number>();

  /** `onRefused` is called once for each entry that is refused. */
  constructor(options: {
    store: ClusterStore & SessionStore;
    seal: EntrySeal;
    rule: SealRule;
    log: Logger;
    onRefused: () => void;
  }) {
    this.inner = options.store;
    this.seal = options.seal;
    this.checked = new CheckedSeals(options.seal);
    this.rule = options.rule;
    this.log = options.log;
    this.onRefused = options.onRefused;
  }

  async get(key: string): Promise<StoreEntry | null> {
    const entry = await this.inner.get(key);
    return entry === null ? null : this.opened(entry);
  }

  async list(prefix: string): Promise<{ entries: StoreEntry[]; revision: number }> {
    const { entries, revision } = await this.inner.list(prefix);
    return { entries: entries.map((entry) => this.opened(entry)).filter((entry) => entry !== null), revision };
  }

  async transact(guards: Guard[], changes: StoreChange[]): Promise<TransactionResult> {
    const sealed = changes.map((change) =>
      change.type === 'put' ? { ...change, value: this.seal.close(change.key, change.value) } : change,
    );
    let expected = guards;
    for (let attempt = 1; ; attempt += 1) {
      const result = await this.inner.transact(expected, sealed);
      if (result.applied) return result;
      const current = result.current.map((entry) => (entry === null ? null : this.opened(entry)));
      const standing = result.current;
      // Every guard holds for what the caller sees. So a refused entry is where the caller expects none.
      const isAsExpected = guards.every((guard, i) => (current[i]?.revision ?? 0) === guard.revision);
      if (!isAsExpected || attempt === ATTEMPTS_MAX) return { applied: false, current };
      expected = guards.map((guard, i) => ({ key: guard.key, revision: standing[i]?.revision ?? 0 }));
    }
  }

  watch(prefix: string, afterRevision: number, listener: (events: StoreEvent[]) => void): () => void {
    return this.inner.watch(prefix, afterRevision, (events) =>
      listener(events.map((event) => this.openedEvent(event))),
    );
  }

  openSession(options: { ttlSeconds: number }): Promise<StoreSession> {
    return this.inner.openSession(options);
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  /**
   * Call this before anything else, so that a store in which no entry can be read is not taken for an empty one and
   * overwritten. Errors: invalid_parameter when there are entries under `prefix` and none of them counts, or when one
   * that `isVital` is sealed under another secret: making it again would lose data; unavailable.
   */
  async mustBeOurs(prefix: string, isVital: (key: string) => boolean): Promise<void> {
    const { entries } = await this.inner.list(prefix);
    const found = entries.map((entry) => ({ key: entry.key, seal: this.seal.open(entry.key, entry.value).seal }));
    const seals = new Set(found.map(({ seal }) => seal));
    const lost = found.find(({ key, seal }) => seal === 'forged' && isVital(key));
    if (seals.has('sealed') || seals.has('sealedByOther')) {
      if (lost !== undefined) throw new QuiverError('invalid_parameter', `${lost.key} ${OF_ANOTHER}`);
    } else if (seals.has('forged')) {
      throw new QuiverError('invalid_parameter', OTHER_SECRET);
    } else if (seals.has('unsealed') && this.rule === 'required') {
      throw new QuiverError('invalid_parameter', UNSEALED);
    }
  }

  /**
   * Seals entries without a seal (where they count) and entries sealed under the other secret. Leaves out entries that
   * live with a session, because their owners put them again. Answers how many it sealed. Errors: unavailable.
   */
  async sealAll(prefix: string, isOfSession: (key: string) => boolean): Promise<number> {
    const { entries } = await this.inner.list(prefix);
    const due = entries.flatMap((entry) => {
      const found = this.seal.open(entry.key, entry.value);
      const isDue = found.seal === 'sealedByOther' || (found.seal === 'unsealed' && this.rule === 'adopt');
      return isDue && !isOfSession(entry.key) ? [{ key: entry.key, revision: entry.revision, value: found.value }] : [];
    });
    let count = 0;
    for (let from = 0, to = 0; from < due.length; from = to) {
      for (
        let length = 0;
        to < due.length && to - from < SEALED_AT_ONCE && (to === from || length < SEALED_LENGTH_AT_ONCE);
        to += 1
      )
        length += due[to].value.length;
      count += await this.sealSome(due.slice(from, to));
    }
    return count;
  }

  /**
   * Seals entries one by one when they can't be sealed together. An entry that was changed meanwhile has been sealed by
   * that change.
   */
  private async sealSome(entries: StoreEntry[]): Promise<number> {
    const put = (some: StoreEntry[]): Promise<TransactionResult> =>
      this.inner.transact(
        some.map(({ key, revision }) => ({ key, revision })),
        some.map(({ key, value }) => ({ type: 'put', key, value: this.seal.close(key, value) })),
      );
    if ((await this.unlessUnknown(put(entries)))?.applied) return entries.length;
    let count = 0;
    for (const entry of entries) if ((await this.unlessUnknown(put([entry])))?.applied) count += 1;
    return count;
  }

  /**
   * Answers null when it is unknown whether the change was made. The caller may repeat it: its guards let it through
   * only once.
   */
  private async unlessUnknown(result: Promise<TransactionResult>): Promise<TransactionResult | null> {
    try {
      return await result;
    } catch (error) {
      if (isQuiverError(error) && error.kind === 'commit_unknown') return null;
      throw error;
    }
  }

  private opened(entry: StoreEntry): StoreEntry | null {
    const found = this.checked.open(entry.key, entry.value);
    if (found.seal !== 'forged' && (found.seal !== 'unsealed' || this.rule === 'adopt'))
      return { ...entry, value: found.value };
    this.refuse(entry.key, entry.revision, found.seal);
    return null;
  }

  private openedEvent(event: StoreEvent): StoreEvent {
    if (event.type === 'delete') return event;
    const entry = this.opened(event);
    return entry === null
      ? { type: 'delete', key: event.key, revision: event.revision }
      : { ...event, value: entry.value };
  }

  private refuse(key: string, revision: number, seal: 'forged' | 'unsealed'): void {
    if (this.refused.get(key) === revision) return;
    this.refused.delete(key);
    this.refused.set(key, revision);
    for (const oldest of this.refused.keys()) {
      if (this.refused.size <= REFUSALS_KEPT) break;
      this.refused.delete(oldest);
    }
    this.log.error(
      { entry: key, revision, seal },
      'an entry of the cluster store was not made by a member of this cluster, and is ignored: its seal is missing or wrong',
    );
    this.onRefused();
  }
}
