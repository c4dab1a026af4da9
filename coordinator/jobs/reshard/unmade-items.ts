import type { ItemState } from './shard-transfers';

/** With more of them, the vectors of before are not kept any longer. */
const UNMADE_MAX = 100;
const TOLD = 10;

/**
 * Items that clients use and the model of before can't make a vector of. Others follow all the same, and nobody goes
 * back while there are any.
 */
export class UnmadeItems {
  private readonly found: Set<string>;

  constructor(externalIds: readonly string[] = []) {
    this.found = new Set(externalIds);
  }

  get ids(): string[] {
    return [...this.found];
  }

  get areTooMany(): boolean {
    return this.found.size > UNMADE_MAX;
  }

  /** `made`: what became of `states`, in their order: no item where there was one could not be made. */
  note(states: readonly ItemState[], made: readonly ItemState[]): void {
    for (const [i, { externalId, item }] of states.entries())
      if (item !== null && made[i].item === null) this.found.add(externalId);
      else this.found.delete(externalId);
  }
}

/** Why there is no going back, with what to do about it. */
export function unmadeText(externalIds: readonly string[]): string {
  const { length } = externalIds;
  return (
    `can’t go back: the model of before makes no vector of ${length} item${length === 1 ? '' : 's'}, ` +
    `such as ${shownIds(externalIds.slice(0, TOLD))}: give them texts that it takes, or delete them`
  );
}

export function shownIds(externalIds: readonly string[]): string {
  return externalIds.map((id) => JSON.stringify(id)).join(', ');
}
