import type { Role } from '../keys/role';

/** How long what a process knows of aliases is certain. */
export interface AliasTenure {
  /** Whether it is now. */
  isHeld(): boolean;
}

/** Of a process that alone changes them. */
export const OWN_ALIASES: AliasTenure = { isHeld: () => true };

/** An alias as all threads know it, and what keys that name it have by it at most. */
export type KnownAlias = readonly [alias: string, collection: string, handsOn: Role];

/**
 * The aliases on one thread, for every request: a look-up in a map. What is found holds as long as the process is a
 * member of the cluster, because whoever changes aliases waits for all members; later, `ask` says what a name stands
 * for.
 */
export class AliasNames {
  private collections: ReadonlyMap<string, string> = new Map();
  /** Those that hand on less than the role admin. */
  private limited: ReadonlyMap<string, Role> = new Map();

  /** `isCollection`: whether this thread knows a collection of this name. */
  constructor(
    private readonly parts: {
      tenure: AliasTenure;
      isCollection: (name: string) => boolean;
      ask: (name: string) => Promise<string>;
    },
  ) {}

  /** Puts all aliases in the place of those before. */
  put(aliases: readonly KnownAlias[]): void {
    this.collections = new Map(aliases.map(([alias, collection]) => [alias, collection]));
    this.limited = new Map(
      aliases.filter(([, , handsOn]) => handsOn !== 'admin').map(([alias, , handsOn]) => [alias, handsOn]),
    );
  }

  /** What the alias stands for as far as this thread knows; null: it is none. */
  known(name: string): string | null {
    return this.collections.get(name) ?? null;
  }

  /** The most that keys which name an alias have by it, while it stands for this collection. */
  handsOn(alias: string, collection: string): Role {
    // Of one that was moved, as others say, it is not known here yet who did that.
    return this.collections.get(alias) === collection ? (this.limited.get(alias) ?? 'admin') : 'readwrite';
  }

  /** The name of the collection that a name stands for: its own, unless it is an alias. Errors: unavailable. */
  resolve(name: string): string | Promise<string> {
    const collection = this.collections.get(name);
    const { tenure, isCollection, ask } = this.parts;
    // In this order: what was found was right at a moment at which it is certain.
    if (tenure.isHeld()) return collection ?? name;
    return collection === undefined && isCollection(name) ? name : ask(name);
  }
}
