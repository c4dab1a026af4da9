import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile, syncFolder } from '../../../../shared/base/files/stable-folder';
import { unlessMissing } from '../../../../shared/base/files/missing-file';

/**
 * Beside the records, and gone or put back with them: a token for each of the last backups, one per line. A backup
 * whose token is there has nothing under the numbers of records that the shard does not have. Programs before knew one
 * token, and begin again where they find several.
 */
const LINEAGE_FILE = 'backup-lineage';
const TOKENS_MAX = 16;
const TOKEN = /^[0-9a-f-]{36}$/;

/** The last change of each folder's file: they wait for each other. */
const changes = new Map<string, Promise<unknown>>();

/** The tokens that are there, the last one last. A backup begins with this, and ends with {@link addToLineage}. */
export function lineageOf(folder: string): Promise<string[]> {
  return inTurn(folder, async () => {
    const tokens = await readTokens(folder);
    return tokens.length > 0 ? tokens : writeTokens(folder, [randomUUID()]);
  });
}

/**
 * Answers the token of a backup that began when the last one was `before`. Call it when all that the backup has is on
 * stable storage: whatever state the folder is put back to, a token that is there tells that the rest is, too. It is
 * not put there if the lineage was forgotten meanwhile.
 */
export function addToLineage(folder: string, before: string): Promise<string> {
  return inTurn(folder, async () => {
    const token = randomUUID();
    const tokens = await readTokens(folder);
    if (tokens.includes(before)) await writeTokens(folder, [...tokens, token].slice(-TOKENS_MAX));
    return token;
  });
}

/**
 * For a shard that has lost count: numbers of records that are gone may be given again, so what a backup has under them
 * may be something else.
 */
export function forgetLineage(folder: string): Promise<void> {
  return inTurn(folder, async () => {
    // One that was removed before comes back with a loss of power at most, and is forgotten by the next opening again:
    // only a checkpoint keeps it from that, and syncs the folder.
    if (!existsSync(join(folder, LINEAGE_FILE))) return;
    await rm(join(folder, LINEAGE_FILE), { force: true });
    await syncFolder(folder);
  });
}

async function readTokens(folder: string): Promise<string[]> {
  const text = (await unlessMissing(readFile(join(folder, LINEAGE_FILE), 'utf8'))) ?? '';
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => TOKEN.test(line));
}

async function writeTokens(folder: string, tokens: string[]): Promise<string[]> {
  await replaceFile(join(folder, LINEAGE_FILE), `${tokens.join('\n')}\n`);
  await syncFolder(folder);
  return tokens;
}

async function inTurn<Result>(folder: string, change: () => Promise<Result>): Promise<Result> {
  const before = changes.get(folder) ?? Promise.resolve();
  const own = before.then(change, change);
  changes.set(folder, own);
  try {
    return await own;
  } finally {
    if (changes.get(folder) === own) changes.delete(folder);
  }
}
