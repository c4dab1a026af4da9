/** What a collection takes, before it is there. */
export interface Estimate {
  memoryBytes: number;
  diskBytes: number;
}

/** Links of the graph: 48 of 4 bytes at the ground, and a few above. */
const LINK_BYTES = 210;
/** An id, its place in the tables, and a hundred bytes of metadata. */
const FACT_BYTES = 200;
/** Below that a shard has no graph and scans its rows. */
const GRAPH_ROWS_MIN = 10_000;

/** Memory holds an int8 code for each dimension, links and metadata; the disk the float32 originals and the codes beside. */
export function estimate(plan: { dim: number; vectors: number; shards: number; replicas: number }): Estimate {
  const { dim, vectors, shards, replicas } = plan;
  const links = vectors / Math.max(1, shards) >= GRAPH_ROWS_MIN ? LINK_BYTES : 0;
  return {
    memoryBytes: vectors * replicas * (dim + links + FACT_BYTES),
    diskBytes: vectors * replicas * (4 * dim + dim + links + 2 * FACT_BYTES),
  };
}
