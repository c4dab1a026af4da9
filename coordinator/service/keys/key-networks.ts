import { NetworkList } from '../../../shared/base/config/network-list';

/** By the list in the key's record, which stays the same object while the key does. */
const known = new WeakMap<readonly string[], NetworkList>();

/** Whether a key with these networks may be used from this address. null: from everywhere. */
export function isAllowedFrom(networks: readonly string[] | null, address: string): boolean {
  if (networks === null) return true;
  let list = known.get(networks);
  if (list === undefined) known.set(networks, (list = new NetworkList(networks)));
  return list.has(address);
}
