import { useEffect, useState } from 'preact/hooks';
import { call, path } from '../api/client';
import type { Collection, CollectionStats } from '../api/shapes';
import { bytes, compact, count, percent, seconds } from '../parts/format';
import { Meter } from '../parts/notice';

/** Sizes change slowly; an index that is being built is looked at more often. */
const REST_MS = 30_000;
const BUILDING_MS = 5000;
/** Sizes are asked for the first of them: each costs a call. */
const STATS_MAX = 30;

export function CollectionsTable({ collections }: { collections: Collection[] }) {
  const stats = useStats(collections);
  return (
    <section class="card" aria-label="Collections">
      <div class="table-box">
        <table class="stacking">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col" class="number">
                Vectors
              </th>
              <th scope="col" class="number">
                Dim
              </th>
              <th scope="col">Metric</th>
              <th scope="col">Model</th>
              <th scope="col" class="number">
                Memory
              </th>
              <th scope="col" class="number">
                Disk
              </th>
              <th scope="col">Index</th>
            </tr>
          </thead>
          <tbody>
            {collections.map((collection) => (
              <Row key={collection.name} collection={collection} stats={stats.get(collection.name) ?? null} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Row({ collection, stats }: { collection: Collection; stats: CollectionStats | null }) {
  return (
    <tr>
      <th scope="row">
        <a class="strong" href={`#/collections/${collection.name}`}>
          {collection.name}
        </a>
        {collection.description !== null && <p class="quiet small description">{collection.description}</p>}
      </th>
      <td class="number" data-label="Vectors" title={count(collection.vector_count)}>
        {compact(collection.vector_count)}
        <Unavailable collection={collection} />
      </td>
      <td class="number" data-label="Dim">
        {collection.dim}
      </td>
      <td data-label="Metric">{collection.distance_metric}</td>
      <td class="break" data-label="Model">
        {collection.embedding_model === null ? (
          <span class="quiet">none yet</span>
        ) : (
          shortModel(collection.embedding_model)
        )}
      </td>
      <td class="number" data-label="Memory">
        {stats === null ? '–' : bytes(stats.memory_bytes)}
      </td>
      <td class="number" data-label="Disk">
        {stats === null ? '–' : bytes(stats.disk_bytes)}
      </td>
      <td data-label="Index">{stats === null ? '–' : <IndexState stats={stats} />}</td>
    </tr>
  );
}

/** Also on the collection's own page. */
export function Unavailable({ collection: { unavailable_shards: missing } }: { collection: Collection }) {
  if (missing.length === 0) return null;
  return (
    <span class="tag bad" title={missing.map(({ shard, reason }) => `shard ${shard}: ${reason}`).join('\n')}>
      {missing.length === 1 ? 'a shard does' : `${missing.length} shards do`} not answer
    </span>
  );
}

/** Also on the collection's own page. */
export function IndexState({ stats: { index } }: { stats: CollectionStats }) {
  if (index.state === 'ready') return <span class="tag good">ready</span>;
  return (
    <div class="index-state">
      <span class="tag warn">
        {index.state} {percent(index.fraction)}
        {index.seconds_left === null ? '' : ` · ${seconds(index.seconds_left)} left`}
      </span>
      <Meter share={index.fraction} label="Work on the index" />
    </div>
  );
}

export function shortModel(model: string): string {
  return model.split('/').pop() ?? model;
}

/**
 * Sizes and states by name. A collection is asked for when its count changed, while its index is built, and now and
 * then.
 */
function useStats(collections: Collection[]): Map<string, CollectionStats> {
  const [known, setKnown] = useState(new Map<string, { stats: CollectionStats; askedAt: number; count: number }>());
  useEffect(() => {
    const stop = new AbortController();
    const now = Date.now();
    const isDue = ({ name, vector_count: vectors }: Collection): boolean => {
      // While it can't be counted, its shards do not say more either.
      if (vectors < 0) return false;
      const last = known.get(name);
      if (last === undefined || last.count !== vectors) return true;
      return now - last.askedAt > (last.stats.index.state === 'ready' ? REST_MS : BUILDING_MS);
    };
    for (const { name, vector_count: vectors } of collections.slice(0, STATS_MAX).filter(isDue)) {
      call<'get_collections_name_stats'>('GET', path('/v1/collections/', name, '/stats'), { signal: stop.signal }).then(
        (stats) => setKnown((last) => new Map(last).set(name, { stats, askedAt: Date.now(), count: vectors })),
        () => undefined,
      );
    }
    return () => stop.abort();
  }, [collections]);
  return new Map([...known].map(([name, { stats }]) => [name, stats]));
}
