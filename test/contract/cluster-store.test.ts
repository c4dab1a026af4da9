import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KeyValueClusterStore } from '../../embedded/cluster-store/key-value-cluster-store';
import { SealedClusterStore } from '../../shared/cluster-store/sealed-cluster-store';
import { silentLogger } from '../../shared/base/logs/logger';
import { EntrySeal } from '../../shared/base/secret/entry-seal';
import { MemoryKeyValueStore } from '../support/models/memory-key-value-store';
import { RocksKeyValueStore } from '../../node/engine/kv/rocks-key-value-store';
import { clusterStoreContract } from './cluster-store.contract';

/** Memory that is still there when the cluster store over it has been closed. */
class LastingMemory extends MemoryKeyValueStore {
  override async close(): Promise<void> {}
}

clusterStoreContract('over memory', async () => {
  const store = new LastingMemory();
  return { open: () => KeyValueClusterStore.open({ store }), remove: async () => {} };
});

clusterStoreContract('over RocksDB', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-cluster-store-'));
  return {
    open: async () => KeyValueClusterStore.open({ store: await RocksKeyValueStore.open(folder) }),
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  };
});

clusterStoreContract('with sealed entries, over memory', async () => {
  const store = new LastingMemory();
  const seal = new EntrySeal({ secret: 'a secret of the cluster' });
  return {
    // Sessions are the inner store's; here nothing opens one.
    open: async () =>
      new SealedClusterStore({
        store: (await KeyValueClusterStore.open({ store })) as never,
        seal,
        rule: 'required',
        log: silentLogger,
        onRefused: () => undefined,
      }),
    remove: async () => {},
  };
});
