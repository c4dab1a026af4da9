import type { ClusterStore, Guard, StoreChange, StoreEntry } from '../../../shared/cluster-store/cluster-store';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';

/** Somebody else has changed the entry, or drives it now. */
export class Superseded extends Error {}

/** Who may drive what is stored to be done: the elected controller, by its entry. null: not this process. */
export interface DriverLeadership {
  readonly guard: Guard | null;
}

/** In the embedded form, there is nobody else. */
export const ONLY_DRIVER: DriverLeadership & { guard: Guard } = { guard: { key: '', revision: 0 } };

/** What a change depends on besides, and what is changed with it. */
export interface ExtraChanges {
  guards: Guard[];
  changes: StoreChange[];
}

const NOTHING: ExtraChanges = { guards: [], changes: [] };

/**
 * An entry of the cluster store in the hands of its driver: every change is made only if nobody else made one. Changes
 * of its own that come together are made one after the other.
 */
export class OwnedEntry<Content extends object> {
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly parts: { store: ClusterStore; leadership: DriverLeadership },
    private readonly key: string,
    private current: Content,
    private revision: number,
  ) {}

  get content(): Content {
    return this.current;
  }

  /** As it was stored last. */
  get entry(): StoreEntry {
    return { key: this.key, value: JSON.stringify(this.current), revision: this.revision };
  }

  /**
   * With these, a change of another entry is made only while this one is as it is here, and this process drives it.
   * Errors: Superseded.
   */
  get guards(): Guard[] {
    return [{ key: this.key, revision: this.revision }, ...this.leadershipGuards()];
  }

  /** Errors: Superseded; unavailable. */
  change(change: Partial<Content>, { guards, changes }: ExtraChanges = NOTHING): Promise<void> {
    return this.inTurn(async () => {
      const content = { ...this.current, ...change };
      const value = JSON.stringify(content);
      this.revision = await this.transact(guards, [{ type: 'put', key: this.key, value }, ...changes], value);
      this.current = content;
    });
  }

  /** Takes over what another driver has noted in it. Errors: Superseded when it is gone; unavailable. */
  reload(decode: (entry: StoreEntry) => Content): Promise<void> {
    return this.inTurn(async () => {
      const entry = await this.parts.store.get(this.key);
      if (entry === null) throw new Superseded(`${this.key} is gone`);
      this.current = decode(entry);
      this.revision = entry.revision;
    });
  }

  /** Removes the entry, with other changes. Errors: as `change`. */
  async end(changes: StoreChange[] = []): Promise<void> {
    await this.inTurn(() => this.transact([], [{ type: 'delete', key: this.key }, ...changes], null));
  }

  private inTurn<Result>(run: () => Promise<Result>): Promise<Result> {
    const done = this.last.then(run);
    this.last = done.catch(() => undefined);
    return done;
  }

  /**
   * Answers the revision. When the answer is lost, the entry says what became of it: `value` is of this change alone.
   */
  private async transact(guards: Guard[], changes: StoreChange[], value: string | null): Promise<number> {
    const { store } = this.parts;
    const { key } = this;
    try {
      const result = await store.transact([...this.guards, ...guards], changes);
      if (!result.applied) throw new Superseded(`${key}, or what its change depends on, was changed by somebody else`);
      return result.revision;
    } catch (error) {
      if (!isQuiverError(error) || error.kind !== 'commit_unknown') throw error;
      const entry = await store.get(key);
      if ((entry?.value ?? null) !== value || entry?.revision === this.revision)
        throw new Superseded(`a change of ${key} was not confirmed`);
      return entry?.revision ?? 0;
    }
  }

  private leadershipGuards(): Guard[] {
    const { leadership } = this.parts;
    if (leadership.guard === null) throw new Superseded('another coordinator is the controller');
    return leadership === ONLY_DRIVER ? [] : [leadership.guard];
  }
}
