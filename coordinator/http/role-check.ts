import { QuiverError } from '../../shared/errors/quiver-error';
import type { ApiKeyView, Role } from '../keys/keys-service';
import type { Endpoint } from './endpoint';

const RANK: Record<Role, number> = { readonly: 0, readwrite: 1, admin: 2 };

/** Whether a key may call an endpoint. */
export function mayCall(key: ApiKeyView, { access }: Pick<Endpoint, 'access'>): boolean {
  return access === 'public' || RANK[key.role] >= RANK[access];
}

/** Errors: forbidden. */
export function authorise(key: ApiKeyView, endpoint: Pick<Endpoint, 'access'>): void {
  if (mayCall(key, endpoint)) return;
  throw new QuiverError('forbidden', `this needs a key with the role ${endpoint.access}${endpoint.access === 'readwrite' ? ' or admin' : ''}; this key's role is ${key.role}`);
}
