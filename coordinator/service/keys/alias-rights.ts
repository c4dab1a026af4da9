import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { roleFor, scopeNaming, type Scoped } from './collection-scope';
import { reaches, type Role } from './role';

export function seesAlias(caller: Scoped, alias: string, collection: string): boolean {
  return roleFor(caller, collection) !== null || scopeNaming(caller, alias) !== null;
}

/**
 * The role of a caller for a name that it changes; undefined: no key is asked for. What is said does not depend on
 * whether there is one of this name. `shown`: what the caller called it. Errors: forbidden.
 */
export function mustWrite(caller: Scoped | undefined, name: string, shown = JSON.stringify(name)): Role {
  const role = caller === undefined ? 'admin' : roleFor(caller, name);
  if (role === null || !reaches(role, 'readwrite'))
    throw new QuiverError('forbidden', `this needs a key with the role readwrite or admin for ${shown}`);
  return role;
}
