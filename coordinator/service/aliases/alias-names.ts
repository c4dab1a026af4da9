/** How long what a process knows of aliases is certain. */
export interface AliasTenure {
  /** Whether it is now. */
  isHeld(): boolean;
}

/** Of a process that alone changes them. */
export const OWN_ALIASES: AliasTenure = { isHeld: () => true };

/**
 * The aliases on one thread, for every request: a look-up in a map. What is found holds as long as the process is a
 * member of the cluster, because whoever changes aliases waits for all members; later, `ask` says what a name stands
 * for.
 */
export class AliasNames {
  private collections: ReadonlyMap<string, string> = new Map();

  /** `isCollection`: whether this thread knows a collection of this name. */
  constructor(
    private readonly parts: {
      tenure: AliasTenure;
      isCollection: (name: string) => boolean;
      ask: (name: string) => Promise<string>;
    },
  ) {}

  /** Puts all aliases in the place of those before: pairs of an alias and the name of its collection. */
  put(aliases: Iterable<readonly [alias: string, collection: string]>): void {
    this.collections = new Map(aliases);
  }

  /** What the alias stands for as far as this thread knows; null: it is none. */
  known(name: string): string | null {
    return this.collections.get(name) ?? null;
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
