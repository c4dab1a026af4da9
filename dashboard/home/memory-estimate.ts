/** What a collection takes, before it is there. */
export interface Estimate {
  memoryBytes: number;
  diskBytes: number;
}

/**
 * In memory beside an int8 code for each dimension: links of the graph, and places in the tables (docs/operations.md,
 * "Sizes").
 */
const ROW_BYTES = 260;
/** On disk for each dimension: the float32 originals, and the indexes' files. */
const DISK_BYTES_PER_DIMENSION = 8;
/** An id, and a hundred bytes of metadata. */
const FACT_BYTES = 120;

export function estimate({ dim, vectors, replicas }: { dim: number; vectors: number; replicas: number }): Estimate {
  return {
    memoryBytes: vectors * replicas * (dim + ROW_BYTES + FACT_BYTES),
    diskBytes: vectors * replicas * (DISK_BYTES_PER_DIMENSION * dim + 2 * FACT_BYTES),
  };
}
