import type { KeyValueChange } from '../kv/key-value-store';

/** The keys that a replica's log has for its applied and its base position (log-keys.ts). */
const POSITION_KEYS = ['ra', 'rb'];
/**
 * The place of the log at which a shard begins that came from a backup: behind one entry, which nobody has. So a
 * replica that holds nothing is behind it, and gets a copy.
 */
export const SEED_SEQUENCE = 1;

/** Brings a new store to that place, in epoch 0: before any that a primary leads. */
export function seedChanges(): KeyValueChange[] {
  const value = Buffer.alloc(16);
  value.writeDoubleLE(SEED_SEQUENCE, 0);
  return POSITION_KEYS.map((key) => ({ type: 'put', key: Buffer.from(key), value }));
}
