import { useState } from 'preact/hooks';
import { call } from '../api/client';
import type { Cluster } from '../api/shapes';
import { compact, plural } from '../parts/format';
import { PlusIcon } from '../parts/icons';
import { Busy, Failure } from '../parts/notice';
import { usePolling } from '../state/polling';
import { isAdmin, mayWrite } from '../state/session';
import { ClusterPanel } from './cluster-panel';
import { CollectionsTable } from './collections-table';
import { CreateCollection } from './create-collection';
import { EmptyHome } from './empty-home';
import { TrafficPanel } from './traffic-panel';

/** A node that is gone is seen within five seconds: the cluster knows after three and a half at most. */
const CLUSTER_POLL_MS = 1200;
/** One process has no moves to follow. */
const EMBEDDED_POLL_MS = 10_000;
const COLLECTIONS_POLL_MS = 8000;

export function HomePage() {
  const [isCreating, setCreating] = useState(false);
  const [isCluster, setCluster] = useState(true);
  const collections = usePolling(
    'collections',
    COLLECTIONS_POLL_MS,
    async (signal) => (await call<'get_collections'>('GET', '/v1/collections', { signal })).collections,
  );
  const loadCluster = async (signal: AbortSignal): Promise<Cluster> => {
    const answer = await call<'get_cluster'>('GET', '/v1/cluster', { signal });
    setCluster(answer.mode === 'cluster');
    return answer;
  };
  const cluster = usePolling(
    isAdmin() ? 'cluster' : null,
    isCluster ? CLUSTER_POLL_MS : EMBEDDED_POLL_MS,
    loadCluster,
    isCluster,
  );
  const list = collections.data;
  const total = list?.reduce((sum, { vector_count: vectors }) => sum + Math.max(0, vectors), 0) ?? 0;
  return (
    <>
      <div class="page-head">
        <h1 tabIndex={-1}>Collections</h1>
        {list !== null && list.length > 0 && (
          <span class="quiet number">
            {plural(list.length, 'collection')} · {compact(total)} vectors
          </span>
        )}
        {mayWrite() && list !== null && list.length > 0 && (
          <div class="actions">
            <button type="button" class="primary" onClick={() => setCreating(true)}>
              <PlusIcon />
              New collection
            </button>
          </div>
        )}
      </div>
      {list === null && collections.error === null && <Busy>Asking for the collections…</Busy>}
      {list === null && <Failure error={collections.error} />}
      {list !== null && list.length === 0 && (
        <EmptyHome onCreate={() => setCreating(true)} onLoaded={collections.refresh} />
      )}
      {list !== null && list.length > 0 && <CollectionsTable collections={list} />}
      <TrafficPanel />
      {cluster.data !== null && <ClusterPanel cluster={cluster.data} onChange={cluster.refresh} />}
      {cluster.data === null && isAdmin() && <Failure error={cluster.error} />}
      {isCreating && (
        <CreateCollection onClose={() => setCreating(false)} isCluster={cluster.data?.mode === 'cluster'} />
      )}
    </>
  );
}
