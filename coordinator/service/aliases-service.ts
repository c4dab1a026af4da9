import type { StoreDedup } from './idempotency/store-dedup';
import type { Scoped } from './keys/collection-scope';

/** Another name of a collection, which can be moved to another one at once. */
export interface AliasView {
  alias: string;
  /** The collection's own name. */
  collection: string;
  /** ISO 8601, UTC, milliseconds. */
  createdAt: string;
  /** When it was last moved to another collection; null: never. */
  switchedAt: string | null;
}

export type AliasAction =
  | { type: 'create' | 'switch'; alias: string; collection: string }
  | { type: 'delete'; alias: string };

/** Aliases of all collections. Names of aliases and collections are one name space. */
export interface AliasesService {
  /** By name; of those that `caller` may know of, default all. Errors: unavailable. */
  list(caller?: Scoped): Promise<AliasView[]>;
  /**
   * Does all of it, in its order, or nothing, and answers the aliases that it names as they are then. A collection may
   * be named by an alias. Others may not know yet: who answers a client waits until it is `settled`, also where the
   * outcome is that of an earlier request. Errors: not_found; already_exists; forbidden for a caller without the role
   * readwrite for an alias and for a collection that gets it; limit_exceeded; unavailable.
   */
  change(actions: readonly AliasAction[], caller?: Scoped, dedup?: StoreDedup): Promise<AliasView[]>;
  /**
   * Resolves when no request that begins later is answered by aliases of before the call. Errors: unavailable, when a
   * coordinator does not say that it knows.
   */
  settled(): Promise<void>;
  /** The collection that a name stands for now, where this thread is not certain of it. Errors: unavailable. */
  resolve(name: string): Promise<string>;
}
