import { randomUUID } from 'node:crypto';
import { open, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { QuiverError } from '../../shared/errors/quiver-error';
import { makeStableFolder, syncFolder } from '../files/stable-folder';

const FILE = 'store.json';
const CLUSTER_FILE = 'cluster.json';

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
  await writeStable(folder, FILE, { node: nodeId, store });
  return store;
}

/** The cluster that a node's data were made in; null if the folder does not say. Errors: storage_failed. */
export async function readClusterId(folder: string): Promise<string | null> {
  const file = join(folder, CLUSTER_FILE);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new QuiverError('storage_failed', `${file} cannot be read`, { cause: error });
  });
  if (text === null) return null;
  try {
    const { cluster } = JSON.parse(text) as { cluster: unknown };
    if (typeof cluster === 'string') return cluster;
  } catch {
    // Told below.
  }
  throw new QuiverError('storage_failed', `${file} is damaged`);
}

/**
 * Refuses a cluster store that is another cluster's than the data are of: by its map, the node would open shards that it
 * does not have, and take part in them. A folder without shards joins any. Errors: storage_failed.
 */
export async function mustBelongTo(folder: string, cluster: string): Promise<void> {
  const own = await readClusterId(folder);
  if (own === cluster) return;
  const shards = await readdir(join(folder, 'shards')).catch(() => []);
  if (own !== null && shards.length > 0) {
    throw new QuiverError(
      'storage_failed',
      `the data in ${folder} belong to cluster ${own}, and ETCD_ENDPOINTS name etcd of cluster ${cluster}; if they are to be left alone there, remove ${CLUSTER_FILE}`,
    );
  }
  await writeStable(folder, CLUSTER_FILE, { cluster });
}

async function writeStable(folder: string, name: string, content: object): Promise<void> {
  const file = join(folder, name);
  const handle = await open(`${file}.next`, 'w');
  try {
    await handle.writeFile(`${JSON.stringify(content)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${file}.next`, file);
  await syncFolder(folder);
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
