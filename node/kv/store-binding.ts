import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { packageRoot } from '../../shared/process/package-root';

declare const kind: unique symbol;

/** Memory that databases share. */
export interface BudgetHandle {
  readonly [kind]: 'budget';
}

/** An open database; closed when it is collected, if nobody closed it. */
export interface DatabaseHandle {
  readonly [kind]: 'database';
}

/** A run over a range of keys. */
export interface CursorHandle {
  readonly [kind]: 'cursor';
}

/** Entries one behind the other, each key then value, with the lengths of both. `ended`: there are no more. */
export interface Page {
  bytes: ArrayBuffer;
  lengths: Uint32Array;
  ended: boolean;
}

/**
 * RocksDB as the addon has it (node/kv/native/addon.cc): the same names, argument order and meaning. What answers with
 * a promise runs on libuv's pool. Failures are Errors with `code` IN_USE, DAMAGED (what is on the disk is not what was
 * written), STORAGE_FAILED, CLOSED, INVALID_ARGUMENT, OUT_OF_MEMORY or INTERNAL; their messages name files. Calls may overlap, but
 * for `next` on one cursor.
 */
export interface StoreBinding {
  newBudget(cacheBytes: number, writeBufferBytes: number): BudgetHandle;
  budgetMemory(budget: BudgetHandle): { cacheBytes: number; writeBufferBytes: number };
  open(budget: BudgetHandle, folder: string): Promise<DatabaseHandle>;
  /** Waits for calls that run; frees cursors. */
  close(database: DatabaseHandle): Promise<void>;
  /** `changes`: key, value, key, value …; null for a key to be deleted. The bytes are copied before the call returns. */
  write(database: DatabaseHandle, changes: (Uint8Array | null)[], sync: boolean): Promise<void>;
  removeRange(database: DatabaseHandle, from: Uint8Array, to: Uint8Array): Promise<void>;
  /** Values one behind the other, with the length of each; ABSENT for a key without one. */
  read(database: DatabaseHandle, keys: Uint8Array[]): Promise<{ bytes: ArrayBuffer; lengths: Uint32Array }>;
  /** The same at once, from memory alone; null when a file would have to be read. */
  readCached(database: DatabaseHandle, keys: Uint8Array[]): { bytes: ArrayBuffer; lengths: Uint32Array } | null;
  sizeBytes(database: DatabaseHandle): Promise<number>;
  /** A number that RocksDB keeps about itself; 0 if it does not know the name. */
  property(database: DatabaseHandle, name: string): number;
  /** Names of the table files in use. */
  tables(database: DatabaseHandle): Promise<string[]>;
  /** Compares each block of a table with its checksum; one that is gone by now is fine. */
  verifyTable(database: DatabaseHandle, name: string): Promise<void>;
  /** Of the state at the time of the call. */
  newCursor(database: DatabaseHandle, from: Uint8Array, to: Uint8Array, reverse: boolean, values: boolean): CursorHandle;
  /** The next entries, cut at `bytes`. */
  next(cursor: CursorHandle, count: number, bytes: number): Promise<Page>;
  free(cursor: CursorHandle): Promise<void>;
}

/** The length of what is not there. */
export const ABSENT = 0xffff_ffff;

let binding: StoreBinding | undefined;

/** Loads the addon, once per JavaScript thread. Throws when it was not built. */
export function storeBinding(): StoreBinding {
  if (binding === undefined) {
    const path = join(packageRoot(__dirname), 'node', 'kv', 'native', 'build', 'store.node');
    if (!existsSync(path)) throw new Error(`the native addon is missing at ${path}: run node scripts/build-native.mjs`);
    binding = createRequire(__filename)(path) as StoreBinding;
  }
  return binding;
}
