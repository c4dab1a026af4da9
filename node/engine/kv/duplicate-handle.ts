import { storeBinding } from './store-binding';

/**
 * Another handle for the connection that this one names; both are to be closed. It is not a store's matter, but the
 * addon that every node has loaded is the one at hand.
 */
export function duplicateHandle(handle: number): number {
  return storeBinding().duplicateHandle(handle);
}
