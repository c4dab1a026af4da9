import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import {
  reachesSomewhere,
  roleByAlias,
  roleFor,
  scopeNaming,
  type Scoped,
  withAliases,
} from '../../service/keys/collection-scope';
import type { Caller as AnyCaller } from '../../service/keys/caller';
import { reaches, type Role } from '../../service/keys/role';
import type { AliasLookUp } from '../../service/service';
import type { Endpoint } from '../endpoints/endpoint';

type Caller = Pick<AnyCaller, 'role' | 'collections'>;

/**
 * Whether a key may call an endpoint at all, whatever the request says. Of a key that is limited to collections:
 * whether there may be one for which it has the role. Errors: forbidden.
 */
export function mustReach(key: Caller, { access, collections }: Pick<Endpoint, 'access' | 'collections'>): void {
  if (access === 'public') return;
  if (key.collections === null || collections.type === 'own') {
    if (!reaches(key.role, access)) throw lacksRole(access, key.role);
    return;
  }
  if (collections.type === 'service')
    throw new QuiverError('forbidden', 'this is about the service as a whole; this key is limited to collections');
  if (!reachesSomewhere(key, access)) throw lacksRole(access, key.role);
}

/** The same as an answer. */
export function mayReach(key: Caller, endpoint: Pick<Endpoint, 'access' | 'collections'>): boolean {
  try {
    mustReach(key, endpoint);
    return true;
  } catch (error) {
    if (isQuiverError(error) && error.kind === 'forbidden') return false;
    throw error;
  }
}

/**
 * Whether a key has a role for a collection. What is said of one that it may not use does not depend on whether there
 * is one of this name. Errors: forbidden.
 */
export function mustUse(key: Caller, access: Role, collection: string): void {
  if (key.collections === null) return;
  mustHave(roleFor(key, collection), access, collection);
}

/**
 * The same of a collection that is called by an alias, by which messages call it, too. `handsOn`: the most that the
 * alias gives to keys that name it.
 */
export function mustUseAlias(key: Caller, access: Role, alias: string, collection: string, handsOn: Role): void {
  if (key.collections === null) return;
  const role = roleByAlias(key, alias, collection, handsOn);
  const given = scopeNaming(key, alias)?.role ?? key.role;
  const why = role === handsOn && !reaches(handsOn, given) ? ', as much as who moved the alias there has' : '';
  mustHave(role, access, alias, why);
}

function mustHave(role: Role | null, access: Role, collection: string, why = ''): void {
  if (role === null)
    throw new QuiverError(
      'forbidden',
      `this key may not use the collection ${JSON.stringify(collection.slice(0, SHOWN_NAME_MAX))}`,
    );
  if (!reaches(role, access)) throw lacksRole(access, role, collection, why);
}

/** Whether a caller has the role admin for a collection, where only a part of a request needs it. Errors: forbidden. */
export function mustAdminister(key: Caller | null, collection: string): void {
  const role = key === null ? null : roleFor(key, collection);
  if (role !== 'admin') throw lacksRole('admin', role ?? 'readonly', collection);
}

/**
 * Whether a caller may learn of the nodes of a cluster, as from `GET /v1/cluster`: an admin of the service as a whole.
 */
export function seesNodes(key: Caller | null): boolean {
  return key !== null && key.role === 'admin' && key.collections === null;
}

/**
 * What decides which collections a key may know of, alone: it may be sent to another thread. undefined: no key is asked
 * for.
 */
export function scopedOf(key: Caller | null): Scoped | undefined {
  return key === null ? undefined : { role: key.role, collections: key.collections };
}

/**
 * The same for what lists collections or is known by their own names: what the key reaches by aliases that it names is
 * among it. As long as it can't be told what an alias stands for, nothing is reached by it.
 */
export async function seeingOf(key: Caller | null, { names }: AliasLookUp): Promise<Scoped | undefined> {
  const scoped = scopedOf(key);
  if (scoped === undefined || scoped.collections === null) return scoped;
  const found = await Promise.all(
    scoped.collections.map(async ({ name }) => {
      if (name === undefined) return [];
      try {
        const collection = await names.resolve(name);
        return collection === name ? [] : [[name, { collection, handsOn: names.handsOn(name, collection) }] as const];
      } catch (error) {
        if (isQuiverError(error) && error.kind === 'unavailable') return [];
        throw error;
      }
    }),
  );
  return withAliases(scoped, found.flat());
}

/** Of what names collections, what a key may know of. */
export function seenBy<Named extends { name: string }>(key: Scoped | null | undefined, named: Named[]): Named[] {
  return !key || key.collections === null ? named : named.filter(({ name }) => roleFor(key, name) !== null);
}

/** The names among these that a key may know of. */
export function namesSeenBy(key: Caller | null, names: string[]): string[] {
  return seenBy(
    key,
    names.map((name) => ({ name })),
  ).map(({ name }) => name);
}

const SHOWN_NAME_MAX = 255;

function lacksRole(needed: Role, role: Role, collection?: string, why = ''): QuiverError {
  const where = collection === undefined ? '' : ` for the collection ${JSON.stringify(collection)}`;
  return new QuiverError(
    'forbidden',
    `this needs a key with the role ${needed}${needed === 'readwrite' ? ' or admin' : ''}${where}; ` +
      `this key's role is ${role}${why}`,
  );
}
