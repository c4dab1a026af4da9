import { useState } from 'preact/hooks';
import { call, path } from '../api/client';
import type { Cluster, ClusterNode, ClusterReshard, ClusterShard } from '../api/shapes';
import { bytes, compact, dateTime, percent, plural } from '../parts/format';
import { Meter } from '../parts/notice';
import { Question } from '../parts/question';
import { tell } from '../state/toasts';

const NODE_TAGS: Record<ClusterNode['state'], string> = {
  up: 'good',
  draining: 'warn',
  drained: 'accent',
  down: 'bad',
};
const SHARD_TAGS: Record<ClusterShard['state'], string> = { ok: 'good', degraded: 'warn', unavailable: 'bad' };

export function ClusterPanel({ cluster, onChange }: { cluster: Cluster; onChange: () => void }) {
  const [draining, setDraining] = useState<string | null>(null);
  const isWhole =
    cluster.shards.every(({ state }) => state === 'ok') && cluster.nodes.every(({ state }) => state !== 'down');
  const undrain = async (node: string): Promise<void> => {
    try {
      await call<'post_cluster_nodes_id_undrain'>('POST', path('/v1/cluster/nodes/', node, '/undrain'));
      tell(`${node} may hold shards again.`);
    } catch (error) {
      tell(String(error), { isBad: true });
    }
    onChange();
  };
  return (
    <section class="card" aria-labelledby="cluster-title">
      <div class="card-head">
        <h2 id="cluster-title">{cluster.mode === 'embedded' ? 'Server' : 'Cluster'}</h2>
        <span class="quiet small">
          {cluster.mode === 'embedded'
            ? 'one process'
            : `${plural(cluster.nodes.length, 'node')} · ${plural(cluster.coordinators.length, 'coordinator')} · ${plural(cluster.shards.length, 'shard')}`}
        </span>
        <span class={`tag ${isWhole ? 'good' : 'warn'}`} role="status">
          <span class="dot" />
          {isWhole ? 'all well' : 'degraded'}
        </span>
      </div>
      <div class="card-body stack">
        <ul class="node-grid">
          {cluster.nodes.map((node) => (
            <NodeCard
              key={node.id}
              node={node}
              cluster={cluster}
              onDrain={() => setDraining(node.id)}
              onUndrain={() => void undrain(node.id)}
            />
          ))}
        </ul>
        {cluster.reshards.length > 0 && (
          <div class="stack">
            <h3>Changes of the number of shards</h3>
            <ul class="stack">
              {cluster.reshards.map((reshard) => (
                <Reshard key={reshard.collection} reshard={reshard} cluster={cluster} />
              ))}
            </ul>
          </div>
        )}
        {cluster.moves.length > 0 && (
          <div class="stack">
            <h3>Moves under way</h3>
            <ul class="stack">
              {cluster.moves.map((move) => (
                <li key={`${move.collection}/${move.shard}/${move.to}`} class="move">
                  <span>
                    <strong>{move.collection}</strong> shard {move.shard}: {move.from} → {move.to}
                  </span>
                  <span class="quiet small">
                    {move.phase} {percent(move.progress)}
                  </span>
                  <Meter share={move.progress} label={`Move of ${move.collection} shard ${move.shard}`} />
                </li>
              ))}
            </ul>
          </div>
        )}
        {cluster.mode === 'cluster' && cluster.shards.length > 0 && (
          <ShardTable title="Shards and replicas" shards={cluster.shards} nodes={cluster.nodes} />
        )}
      </div>
      {draining !== null && (
        <Question
          title={`Drain ${draining}?`}
          verb="Drain"
          isDanger={false}
          onClose={() => setDraining(null)}
          run={async () => {
            await call<'post_cluster_nodes_id_drain'>('POST', path('/v1/cluster/nodes/', draining, '/drain'));
            onChange();
          }}
        >
          <p>
            Its shards move to other nodes, while everything goes on. Afterwards it holds nothing and may be switched
            off. You can take this back at any time.
          </p>
        </Question>
      )}
    </section>
  );
}

function NodeCard({
  node,
  cluster,
  onDrain,
  onUndrain,
}: {
  node: ClusterNode;
  cluster: Cluster;
  onDrain: () => void;
  onUndrain: () => void;
}) {
  const mayDrain = cluster.mode === 'cluster' && (node.state === 'up' || node.state === 'down');
  return (
    <li class={`node ${node.state}`}>
      <div class="row">
        <strong class="break">{node.id}</strong>
        <span class={`tag ${NODE_TAGS[node.state]}`}>{node.state}</span>
      </div>
      <p class="quiet small break">
        {node.address}
        {node.zone === '' ? '' : ` · zone ${node.zone}`}
        {node.down_since === null ? '' : ` · down since ${dateTime(node.down_since)}`}
      </p>
      <dl class="node-facts">
        <Fact name="Primaries" value={String(node.primaries)} />
        <Fact name="Replicas" value={String(node.replicas)} />
        <Fact name="Vectors" value={compact(node.vectors)} />
        <Fact name="Disk" value={bytes(node.disk_bytes)} />
      </dl>
      {mayDrain && (
        <button type="button" class="tight" onClick={onDrain} aria-label={`Drain ${node.id}`}>
          Drain
        </button>
      )}
      {(node.state === 'draining' || node.state === 'drained') && (
        <button type="button" class="tight" onClick={onUndrain} aria-label={`Undrain ${node.id}`}>
          Undrain
        </button>
      )}
    </li>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="number">{value}</dd>
    </div>
  );
}

/** With the shards that it makes, as long as they are not those of the collection. */
function Reshard({ reshard, cluster }: { reshard: ClusterReshard; cluster: Cluster }) {
  const { collection, from, to, state, fraction, behind, error, waits_for: waitsFor } = reshard;
  const coming = cluster.new_shards.filter((shard) => shard.collection === collection);
  const isBad = state === 'failed' || state === 'stuck';
  return (
    <li class="move">
      <span>
        <strong>{collection}</strong>: {from} → {plural(to, 'shard')}
      </span>
      <span class={isBad ? 'tag bad' : 'quiet small'}>
        {state}
        {state === 'filling' ? ` ${percent(fraction)}${behind > 0 ? `, ${compact(behind)} changes behind` : ''}` : ''}
      </span>
      {state === 'filling' && <Meter share={fraction} label={`New shards of ${collection}`} />}
      {error !== null && <p class="small break">{error}</p>}
      {waitsFor !== null && <p class="small break">waits for: {waitsFor}</p>}
      {cluster.mode === 'cluster' && coming.length > 0 && (
        <ShardTable title={`New shards of ${collection}`} shards={coming} nodes={cluster.nodes} />
      )}
    </li>
  );
}

function ShardTable({ title, shards, nodes }: { title: string; shards: ClusterShard[]; nodes: ClusterNode[] }) {
  const isDown = (id: string): boolean => nodes.some((node) => node.id === id && node.state === 'down');
  const worstFirst = [...shards].sort((a, b) => Number(a.state === 'ok') - Number(b.state === 'ok'));
  return (
    <details open={worstFirst.some(({ state }) => state !== 'ok') || shards.length <= 12}>
      <summary>{title}</summary>
      <div class="table-box">
        <table>
          <thead>
            <tr>
              <th scope="col">Collection</th>
              <th scope="col">Shard</th>
              <th scope="col">State</th>
              <th scope="col">Replicas</th>
              <th scope="col" class="number">
                Vectors
              </th>
            </tr>
          </thead>
          <tbody>
            {worstFirst.map((shard) => (
              <tr key={`${shard.collection}/${shard.shard}`}>
                <th scope="row">{shard.collection}</th>
                <td class="number-left">{shard.shard}</td>
                <td>
                  <span class={`tag ${SHARD_TAGS[shard.state]}`}>{shard.state}</span>
                </td>
                <td>
                  <span class="chips">
                    {shard.in_sync.map((node) => (
                      <span
                        key={node}
                        class={`tag ${node === shard.primary ? 'accent' : ''}`}
                        title={node === shard.primary ? 'Leads' : 'In sync'}
                      >
                        {node}
                        {node === shard.primary ? ' · leads' : ''}
                        {(shard.lag_ops[node] ?? 0) > 0 ? ` · ${shard.lag_ops[node]} behind` : ''}
                      </span>
                    ))}
                    {shard.learners.map(({ node, progress }) => (
                      <span key={node} class={`tag ${isDown(node) ? 'bad' : 'warn'}`}>
                        {node} · {isDown(node) ? 'down' : `copying ${percent(progress)}`}
                      </span>
                    ))}
                  </span>
                </td>
                <td class="number">{compact(shard.vectors)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
