import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { makeStableFolder, replaceFile, syncFolder } from '../../../shared/base/files/stable-folder';
import { ShardStores } from './shard-stores';
import { isMissing } from '../../../shared/base/files/missing-file';

const FILE = 'store.json';
const CLUSTER_FILE = 'cluster.json';

/**
 * The name of a node's data folder, random and made with it: a node that comes back with another one has lost its data,
 * and nothing that it acknowledged before counts any more. Errors: storage_failed when the folder is another node's, or
 * holds shards and does not say whose it is.
 */
export async function readStoreId(folder: string, nodeId: string): Promise<string> {
  await makeStableFolder(folder);
  const found = await read(
    join(folder, FILE),
    ['node', 'store'],
    'put the file back (while it is away, a start says what was in it, where that is known), or start with an ' +
      'empty folder, and every replica is copied from the others',
  );
  if (found !== null) {
    if (found.node !== nodeId)
      throw new QuiverError('storage_failed', `the data in ${folder} belong to node ${found.node}, not ${nodeId}`);
    return found.store;
  }
  await mustBeNew(folder, nodeId);
  const store = randomUUID();
  await note(folder, FILE, { node: nodeId, store });
  return store;
}

/** Under a new name, no shard in the folder would count any more. Errors: storage_failed. */
async function mustBeNew(folder: string, nodeId: string): Promise<void> {
  const shards = await readdir(join(folder, 'shards')).catch((error: NodeJS.ErrnoException) => {
    if (isMissing(error)) return [];
    throw new QuiverError('storage_failed', `${join(folder, 'shards')} cannot be read: ${error.message}`, {
      cause: error,
    });
  });
  if (shards.length === 0) return;
  const stores = await ShardStores.load(folder, '');
  const found = [...new Set(Object.values(stores.ownStores()))];
  const content = found.length === 1 ? `, with {"node":"${nodeId}","store":"${found[0]}"}` : '';
  throw new QuiverError(
    'storage_failed',
    `${join(folder, FILE)} is gone, and ${join(folder, 'shards')} holds shards: under a new name none of them would count. Put the file back${content}, or start with an empty folder, and every replica is copied from the others`,
  );
}

/** The cluster that a node's data were made in; null if the folder does not say. Errors: storage_failed. */
export async function readClusterId(folder: string): Promise<string | null> {
  return (
    (
      await read(
        join(folder, CLUSTER_FILE),
        ['cluster'],
        'put the file back, or remove it if the data are of the cluster that ETCD_ENDPOINTS name',
      )
    )?.cluster ?? null
  );
}

/**
 * Refuses a cluster store that is another cluster's than the data are of: by its map, the node would open shards that
 * it does not have, and take part in them. A folder without shards joins any. Errors: storage_failed.
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
  await note(folder, CLUSTER_FILE, { cluster });
}

async function note(folder: string, name: string, content: Record<string, string>): Promise<void> {
  await replaceFile(join(folder, name), `${JSON.stringify({ ...content, crc: crc32(JSON.stringify(content)) })}\n`);
  await syncFolder(folder);
}

/**
 * The strings that a file holds; null if it is not there. Those of the first versions have no checksum. Errors:
 * storage_failed, with `way` out where it is damaged.
 */
async function read<Name extends string>(
  file: string,
  names: readonly Name[],
  way: string,
): Promise<Record<Name, string> | null> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (isMissing(error)) return null;
    throw new QuiverError('storage_failed', `${file} cannot be read`, { cause: error });
  });
  if (text === null) return null;
  try {
    const { crc, ...fields } = JSON.parse(text) as Record<string, unknown>;
    const isAsWritten = crc === undefined || crc === crc32(JSON.stringify(fields));
    if (isAsWritten && names.every((name) => typeof fields[name] === 'string')) return fields as Record<Name, string>;
  } catch {
    // Told below.
  }
  throw new QuiverError('storage_failed', `${file} is damaged: ${way}`);
}
