import { storeBinding } from './store-binding';

/**
 * Milliseconds since the machine started, with a fraction. Node's own clocks do not count the time that it slept. It is
 * not a store's matter, but the addon that every node has loaded is the one at hand.
 */
export function bootTimeMs(): number {
  return storeBinding().bootTimeMs();
}
