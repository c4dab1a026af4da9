import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Times that a file is read that changes meanwhile. */
const ATTEMPTS = 3;
/** A pipe that came in the place of a file would hold the command up. */
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** What a file is at one moment. */
interface FileState {
  size: bigint;
  mtimeNs: bigint;
  isFile(): boolean;
}

/** An open file. */
interface ReadableFile {
  stat(options: { bigint: true }): Promise<FileState>;
  readFile(): Promise<Buffer>;
  close(): Promise<void>;
}

/** Throws an error with a message for people where the file can't be read, or changes all the time. */
export async function readSteady(
  path: string,
  opened: (path: string) => Promise<ReadableFile> = (file) => open(file, FLAGS),
): Promise<Buffer> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const bytes = await readUnchanged(path, opened).catch((error: unknown) => {
      throw new Error(`it can’t be read: ${reasonOf(error)}`, { cause: error });
    });
    if (bytes !== null) return bytes;
  }
  throw new Error('it changes while it is read: add it again when it is written');
}

/** null: it changed meanwhile. */
async function readUnchanged(path: string, opened: (path: string) => Promise<ReadableFile>): Promise<Buffer | null> {
  const file = await opened(path);
  try {
    const before = await file.stat({ bigint: true });
    if (!before.isFile()) throw new Error('it is no file');
    const bytes = await file.readFile();
    const after = await file.stat({ bigint: true });
    return before.mtimeNs === after.mtimeNs && before.size === after.size ? bytes : null;
  } finally {
    await file.close();
  }
}

const REASONS: Record<string, string> = {
  ENOENT: 'there is no such file or folder, or it is a link to nothing',
  EACCES: 'you may not read it (EACCES)',
  EPERM: 'you may not read it (EPERM)',
  ELOOP: 'it is a link that leads back to itself (ELOOP)',
};

/** Why the system did not give a file. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return REASONS[code ?? ''] ?? message;
}
