import { randomUUID } from 'node:crypto';
import { rename } from 'node:fs/promises';

/** Puts a node's data folder aside, for an operator to look at; the next start makes an empty one with a store id of its own. */
export function retireStore(folder: string): Promise<void> {
  return rename(folder, `${folder}.retired-${randomUUID()}`);
}
