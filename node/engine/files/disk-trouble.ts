const REASONS: readonly (readonly [RegExp, string])[] = [
  [/no space left|ENOSPC|quota exceeded|EDQUOT/i, 'the disk is full'],
  [/read-only file system|EROFS/i, 'the file system is read-only'],
];

/**
 * What a disk that takes nothing says, in words for callers, of an error or what caused it; null: it is something else.
 */
export function refusalOfDisk(error: unknown): string | null {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const { message } = at;
    const found = REASONS.find(([pattern]) => pattern.test(message));
    if (found !== undefined) return found[1];
  }
  return null;
}
