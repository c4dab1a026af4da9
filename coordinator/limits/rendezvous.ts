import { createHash } from 'node:crypto';

/**
 * The owner of a subject among the members: the one with the highest hash of (member, subject), so that every member
 * that knows the same members names the same owner, and a member that comes or goes moves no subject but its own
 * (Thaler & Ravishankar, 1998). null without members. The order of the members does not matter.
 */
export function rendezvousOwner(subject: string, memberIds: readonly string[]): string | null {
  let owner: string | null = null;
  let best = '';
  for (const id of memberIds) {
    const weight = createHash('sha1').update(id).update('\0').update(subject).digest('hex');
    if (owner === null || weight > best || (weight === best && id < owner)) {
      owner = id;
      best = weight;
    }
  }
  return owner;
}
