import { openedContent, sealedText } from './backup-format';
import type { BackupSeals, SealState } from './backup-seals';
import { LOG_HEADS } from './content-schemas';
import { headsKey, type LogHeads } from './log-format';

/** What a member tells of its shards, to be put under headsKey. */
export function headsToBytes(heads: LogHeads, seals: BackupSeals): Buffer {
  return sealedText(heads, { seals, key: headsKey(heads.member) });
}

/** null: they are torn or none, and tell nothing. */
export function headsFromBytes(
  key: string,
  bytes: Buffer,
  seals: BackupSeals,
): { heads: LogHeads; seal: SealState } | null {
  try {
    const { content: heads, seal } = openedContent(LOG_HEADS, seals, key, bytes);
    return { heads, seal };
  } catch {
    return null;
  }
}
