import { isQuiverError } from '../../shared/base/errors/quiver-error';

/** One that can't be read. */
export interface UnreadableEntry {
  key: string;
  /** For clients. */
  reason: string;
}

/**
 * What entries of the cluster store say, without those that are null: one that is damaged hides no other. `decode`
 * throws for what is unreadable. Such an entry is told to `onUnreadable`, by default to nobody: then the watch of the
 * same entries logs it.
 */
export function readableEntries<Entry extends { key: string }, Value>(
  entries: readonly Entry[],
  decode: (entry: Entry) => Value | null,
  onUnreadable: (unreadable: UnreadableEntry) => void = () => undefined,
): Value[] {
  return entries.flatMap((entry) => {
    try {
      return decode(entry) ?? [];
    } catch (error) {
      const reason = isQuiverError(error) ? error.message : `the entry ${entry.key} is unreadable`;
      onUnreadable({ key: entry.key, reason });
      return [];
    }
  });
}
