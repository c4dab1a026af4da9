import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { StoreEntry } from '../../../shared/cluster-store/cluster-store';
import type { Role } from '../keys/role';

/**
 * All aliases are one entry: a change of several is one put, and whoever makes or deletes a collection guards one
 * revision.
 */
export const ALIASES_PATH = '/q/aliases';
/** The entry fits into a message of etcd's, whatever the names are. */
export const ALIASES_MAX = 2_000;

/** As the entry has it; without its name, which is the key. */
export interface AliasRecord {
  /** The name of a collection that clients see: who deletes one takes its aliases along. */
  collection: string;
  createdAt: string;
  switchedAt: string | null;
  /**
   * The role that whoever moved it there has for the collection. By the alias, keys that name it have no more: nobody
   * gives what he does not have.
   */
  handsOn: Role;
}

/** By the name of the alias. */
export type AliasTable = ReadonlyMap<string, AliasRecord>;

export function aliasesToValue(table: AliasTable): string {
  return JSON.stringify({
    aliases: [...table].map(([alias, { collection, createdAt, switchedAt, handsOn }]) => ({
      alias,
      collection,
      created_at: createdAt,
      ...(switchedAt !== null && { switched_at: switchedAt }),
      ...(handsOn !== 'admin' && { hands_on: handsOn }),
    })),
  });
}

/** Of no entry: none. Errors: storage_failed when the text is not a table of aliases. */
export function aliasesFromEntry(entry: Pick<StoreEntry, 'key' | 'value'> | null): AliasTable {
  if (entry === null) return new Map();
  try {
    const { aliases } = JSON.parse(entry.value) as {
      aliases: { alias: string; collection: string; created_at: string; switched_at?: string; hands_on?: Role }[];
    };
    return new Map(
      aliases.map(({ alias, collection, created_at, switched_at = null, hands_on = 'admin' }) => [
        alias,
        { collection, createdAt: created_at, switchedAt: switched_at, handsOn: hands_on },
      ]),
    );
  } catch (cause) {
    throw new QuiverError('storage_failed', `the stored aliases at ${entry.key} are unreadable`, { cause });
  }
}

/**
 * Not everybody may know of which collection it is an alias. Errors: already_exists for a name of a new collection that
 * is one of an alias.
 */
export function mustBeNoAlias(table: AliasTable, name: string): void {
  if (table.has(name))
    throw new QuiverError(
      'already_exists',
      `"${name}" is an alias (GET /v1/aliases), so no collection can have the name; delete the alias first`,
    );
}

/** Names of the aliases of a collection, in order. */
export function aliasesOf(table: AliasTable, collection: string): string[] {
  return [...table].flatMap(([alias, record]) => (record.collection === collection ? [alias] : [])).sort();
}

/** The table without the aliases of a collection. */
export function withoutAliasesOf(table: AliasTable, collection: string): AliasTable {
  return new Map([...table].filter(([, record]) => record.collection !== collection));
}
