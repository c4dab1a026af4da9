import type { ClusterStore, Guard } from '../../shared/cluster-store/cluster-store';
import { isQuiverError } from '../../shared/errors/quiver-error';
import { ONLY_DRIVER, type ReshardOffice, Superseded } from '../collections/reshard/owned-reshard';

/**
 * An entry of the cluster store in the hands of who works on it: every change is made only if nobody else made one. Changes
 * of its own that come together are made one after the other.
 */
export class OwnedEntry<Content extends object> {
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly parts: { store: ClusterStore; office: ReshardOffice },
    private readonly key: string,
    private current: Content,
    private revision: number,
  ) {}

  get content(): Content {
    return this.current;
  }

  /** Errors: Superseded; unavailable. */
  change(change: Partial<Content>): Promise<void> {
    return this.inTurn(async () => {
      const content = { ...this.current, ...change };
      this.revision = await this.transact(JSON.stringify(content));
      this.current = content;
    });
  }

  /** Removes the entry. Errors: as `change`. */
  async end(): Promise<void> {
    await this.inTurn(() => this.transact(null));
  }

  private inTurn<Result>(run: () => Promise<Result>): Promise<Result> {
    const done = this.last.then(run);
    this.last = done.catch(() => undefined);
    return done;
  }

  private async transact(value: string | null): Promise<number> {
    const { store, office } = this.parts;
    const { key } = this;
    if (office.guard === null) throw new Superseded('another coordinator is the controller');
    const guards: Guard[] = [{ key, revision: this.revision }, ...(office === ONLY_DRIVER ? [] : [office.guard])];
    try {
      const result = await store.transact(guards, [value === null ? { type: 'delete', key } : { type: 'put', key, value }]);
      if (!result.applied) throw new Superseded(`${key} was changed by somebody else`);
      return result.revision;
    } catch (error) {
      if (!isQuiverError(error) || error.kind !== 'commit_unknown') throw error;
      const entry = await store.get(key);
      if ((entry?.value ?? null) !== value || entry?.revision === this.revision) throw new Superseded(`a change of ${key} was not confirmed`);
      return entry?.revision ?? 0;
    }
  }
}
