import type { BackupSeals } from './backup-seals';

/**
 * Where backups are kept: a flat set of objects with names like paths. Implementations: a folder (folder-target.ts),
 * and an S3-compatible store. An object is written whole or not at all, and never changed: a name is put again only
 * with the same meaning. Whoever reads or lists after a `put` or `create` has resolved sees the object.
 *
 * Names are made of letters, digits, `.`, `_`, `-` and `/`. Errors: unavailable when the target can't be reached or
 * fails for a reason that may pass, storage_failed when it refuses (no room, no right).
 */
export interface BackupTarget {
  /** The target, as it was named. */
  readonly name: string;
  /** By which it is told who wrote what is there. */
  readonly seals: BackupSeals;
  put(key: string, bytes: Buffer): Promise<void>;
  /**
   * Writes an object if there is none of that name, whoever else tries at the same time. Answers whether it did; if
   * not, the present one stays, which may be of this very call: an attempt whose answer was lost. A target that knows
   * no such writes looks first and then puts, or overwrites what is there.
   */
  create(key: string, bytes: Buffer): Promise<boolean>;
  /**
   * null: there is no such object. Errors: storage_damaged where it has more bytes than `bytesMax`; then it is not
   * read.
   */
  get(key: string, bytesMax?: number): Promise<Buffer | null>;
  /** Every object whose name begins so and comes behind `after`, letter by letter, in no particular order. */
  list(prefix: string, after?: string): Promise<BackupObject[]>;
  /** Nothing happens where there is none. */
  delete(key: string): Promise<void>;
}

export interface BackupObject {
  key: string;
  bytes: number;
}

const NAME = /^[\w.-]+(?:\/[\w.-]+)*$/;

/** Whether a text is a name that an object may have. */
export function isObjectName(text: string): boolean {
  return NAME.test(text) && !text.split('/').some((part) => part === '.' || part === '..');
}

/** Opens a target by its name; the same one for the same name. Errors: invalid_parameter. */
export type OpenTarget = (name: string) => BackupTarget;
