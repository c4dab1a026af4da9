import { reaches, type Role } from './role';

/** Collections that a key is limited to, by their name or by how it begins. */
export type CollectionScope =
  | { name: string; prefix?: undefined; role?: Role | undefined }
  | { name?: undefined; prefix: string; role?: Role | undefined };

/** Of a key, what decides about collections. */
export interface Scoped {
  role: Role;
  /** null: all collections, with the key's role. */
  collections: readonly CollectionScope[] | null;
}

/**
 * The role that a key has for a collection; null: it may not even learn whether there is one of this name. A name
 * counts before a prefix, and a longer prefix before a shorter one. A scope without a role has the key's.
 */
export function roleFor(key: Scoped, collection: string): Role | null {
  if (key.collections === null) return key.role;
  let best: CollectionScope | null = null;
  for (const scope of key.collections) {
    if (scope.name === collection) return scope.role ?? key.role;
    if (
      scope.prefix !== undefined &&
      collection.startsWith(scope.prefix) &&
      scope.prefix.length >= (best?.prefix?.length ?? 0)
    )
      best = scope;
  }
  return best === null ? null : (best.role ?? key.role);
}

/** The scope of a key that has exactly this name; null: none has, or the key is limited to none. */
export function scopeNaming({ collections }: Scoped, name: string): CollectionScope | null {
  return collections?.find((scope) => scope.name === name) ?? null;
}

/**
 * The role that a key has for a collection that it calls by an alias: that for the collection, unless the key names the
 * alias itself. Then it has what it says there, as far as the alias hands on so much or it has as much for the
 * collection. null: none.
 */
export function roleByAlias(key: Scoped, alias: string, collection: string, handsOn: Role): Role | null {
  const scope = scopeNaming(key, alias);
  const own = roleFor(key, collection);
  if (scope === null) return own;
  const given = scope.role ?? key.role;
  return reaches(handsOn, given) || own === given ? given : handsOn;
}

/**
 * What a key reaches by aliases that it names, as rights for their collections: for lists, and for what is made and
 * known by the collection's own name alone. `aliases`: of names that it has, their collections and what they hand on.
 */
export function withAliases(
  key: Scoped,
  aliases: Iterable<readonly [name: string, of: { collection: string; handsOn: Role }]>,
): Scoped {
  if (key.collections === null) return key;
  const reached = new Map<string, Role>();
  for (const [name, { collection, handsOn }] of aliases) {
    const before = reached.get(collection) ?? roleFor(key, collection);
    const role = roleByAlias(key, name, collection, handsOn);
    if (role !== null && (before === null || !reaches(before, role))) reached.set(collection, role);
  }
  if (reached.size === 0) return key;
  const own = key.collections.filter(({ name }) => name === undefined || !reached.has(name));
  return { role: key.role, collections: [...[...reached].map(([name, role]) => ({ name, role })), ...own] };
}

/** Whether there may be a collection for which the key has this role. */
export function reachesSomewhere(key: Scoped, least: Role): boolean {
  return key.collections === null
    ? reaches(key.role, least)
    : key.collections.some(({ role }) => reaches(role ?? key.role, least));
}
