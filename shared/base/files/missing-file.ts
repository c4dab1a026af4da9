/** Whether an error of the file system says that there is no such file or folder, and not that it can't be read now. */
export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === 'ENOENT';
}

/** What is read, or done; null where there is no such file or folder. Errors: those of the work, but for that. */
export async function unlessMissing<Result>(work: Promise<Result>): Promise<Result | null> {
  try {
    return await work;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}
