import { randomUUID } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { QuiverError } from '../../shared/errors/quiver-error';
import { makeStableFolder, syncFolder } from '../files/stable-folder';

const FILE = 'store.json';

/**
 * The name of a node's data folder, random and made with it: a node that comes back with another one has lost its data,
 * and nothing that it acknowledged before counts any more. Errors: storage_failed when the folder is another node's.
 */
export async function readStoreId(folder: string, nodeId: string): Promise<string> {
  await makeStableFolder(folder);
  const file = join(folder, FILE);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new QuiverError('storage_failed', `${file} cannot be read`, { cause: error });
  });
  if (text !== null) {
    const json = parsed(text, file);
    if (json.node !== nodeId) throw new QuiverError('storage_failed', `the data in ${folder} belong to node ${json.node}, not ${nodeId}`);
    return json.store;
  }
  const store = randomUUID();
  const handle = await open(`${file}.next`, 'w');
  try {
    await handle.writeFile(`${JSON.stringify({ node: nodeId, store })}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${file}.next`, file);
  await syncFolder(folder);
  return store;
}

function parsed(text: string, file: string): { node: string; store: string } {
  try {
    const json = JSON.parse(text) as { node: unknown; store: unknown };
    if (typeof json.node === 'string' && typeof json.store === 'string') return { node: json.node, store: json.store };
  } catch {
    // Told below.
  }
  throw new QuiverError('storage_failed', `${file} is damaged`);
}
