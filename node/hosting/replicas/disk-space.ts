import { statfs } from 'node:fs/promises';
import type { NodeMember } from '../../../shared/cluster-store/entries/members';

/** What changes less than this share of the disk is not worth telling everybody. */
const NOTABLE_SHARE = 0.01;

export type DiskSpace = Pick<NodeMember, 'diskBytes' | 'freeBytes'>;

/** The disk under `folder`; zeros when the system does not tell. */
export async function diskSpaceOf(folder: string): Promise<DiskSpace> {
  try {
    const { bsize, blocks, bavail } = await statfs(folder);
    return { diskBytes: blocks * bsize, freeBytes: bavail * bsize };
  } catch {
    return { diskBytes: 0, freeBytes: 0 };
  }
}

/** Whether `now` says something that `told` did not. */
export function isNotable(told: DiskSpace, now: DiskSpace): boolean {
  return told.diskBytes !== now.diskBytes || Math.abs(told.freeBytes - now.freeBytes) > now.diskBytes * NOTABLE_SHARE;
}
