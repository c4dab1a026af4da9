/**
 * Nearest neighbours of every row, nearly all of them right: row by row its k neighbours, itself first, and their
 * distances.
 */
export interface Neighbours {
  k: number;
  indices: Uint32Array;
  distances: Float32Array;
}

/** Below that, everything is compared with everything. */
const EXACT_ROWS_MAX = 3000;
/** Cells beside its own that a row looks into. */
const PROBES = 5;
/** Rounds in which the cells' middles find their places. */
const ROUNDS = 4;

/**
 * Euclidean. Rows are parted into some √n cells around middles, and a row is compared with those of the nearest cells:
 * a few seconds for 50,000 rows, where comparing all takes minutes. `onProgress` gets the share that is done.
 */
export function nearestNeighbours(
  rows: Float32Array,
  dimensions: number,
  k: number,
  onProgress: (share: number) => void = () => undefined,
): Neighbours {
  const count = rows.length / dimensions;
  const cells = count <= EXACT_ROWS_MAX ? 1 : Math.round(Math.sqrt(count));
  const middles = middlesOf(rows, dimensions, cells);
  const home = homesOf(rows, middles, dimensions);
  const members: number[][] = Array.from({ length: cells }, () => []);
  for (let row = 0; row < count; row++) (members[home[row] as number] as number[]).push(row);

  const indices = new Uint32Array(count * k);
  const distances = new Float32Array(count * k);
  const best = new Best(k);
  for (let cell = 0, done = 0; cell < cells; cell++) {
    const own = members[cell] as number[];
    const near = nearestCells(middles, dimensions, cell, PROBES + 1).flatMap((one) => members[one] as number[]);
    // Cells may be all but empty; then rows of any cell must do.
    const candidates = near.length > 2 * k ? near : Array.from({ length: count }, (_, row) => row);
    for (const row of own) {
      best.clear();
      for (const other of candidates)
        if (other !== row)
          best.offer(other, squared(rows, row * dimensions, rows, other * dimensions, dimensions, best.limit));
      indices[row * k] = row;
      for (let i = 1; i < k; i++) {
        indices[row * k + i] = best.rows[i - 1] as number;
        distances[row * k + i] = Math.sqrt(best.values[i - 1] as number);
      }
    }
    done += own.length;
    onProgress(done / count);
  }
  return { k, indices, distances };
}

/** The least of what is offered, sorted; insertion into a short list. */
class Best {
  readonly rows: Uint32Array;
  readonly values: Float64Array;
  limit = Infinity;
  private readonly wanted: number;

  constructor(k: number) {
    this.wanted = k - 1;
    this.rows = new Uint32Array(this.wanted);
    this.values = new Float64Array(this.wanted);
    this.clear();
  }

  clear(): void {
    this.values.fill(Infinity);
    this.limit = Infinity;
  }

  offer(row: number, value: number): void {
    if (value >= this.limit) return;
    let at = this.wanted - 1;
    for (; at > 0 && (this.values[at - 1] as number) > value; at--) {
      this.values[at] = this.values[at - 1] as number;
      this.rows[at] = this.rows[at - 1] as number;
    }
    this.values[at] = value;
    this.rows[at] = row;
    this.limit = this.values[this.wanted - 1] as number;
  }
}

/** Squared distance; anything above `limit` when it is more than that. */
function squared(
  a: Float32Array,
  from: number,
  b: Float32Array,
  at: number,
  dimensions: number,
  limit: number,
): number {
  let sum = 0;
  for (let i = 0; i < dimensions; i++) {
    const difference = (a[from + i] as number) - (b[at + i] as number);
    sum += difference * difference;
    if ((i & 7) === 7 && sum > limit) return sum;
  }
  return sum;
}

/** A few rounds of k-means over rows at equal steps; which rows they begin with hardly matters for cells. */
function middlesOf(rows: Float32Array, dimensions: number, cells: number): Float32Array {
  const count = rows.length / dimensions;
  const middles = new Float32Array(cells * dimensions);
  for (let cell = 0; cell < cells; cell++) {
    const row = Math.floor((cell * count) / cells);
    middles.set(rows.subarray(row * dimensions, (row + 1) * dimensions), cell * dimensions);
  }
  if (cells === 1) return middles;
  const step = Math.max(1, Math.floor(count / (cells * 20)));
  for (let round = 0; round < ROUNDS; round++) {
    const sums = new Float64Array(cells * dimensions);
    const sizes = new Uint32Array(cells);
    for (let row = 0; row < count; row += step) {
      const cell = nearestMiddle(rows, row, middles, dimensions);
      sizes[cell] = (sizes[cell] as number) + 1;
      for (let i = 0; i < dimensions; i++)
        sums[cell * dimensions + i] = (sums[cell * dimensions + i] as number) + (rows[row * dimensions + i] as number);
    }
    for (let cell = 0; cell < cells; cell++) {
      const size = sizes[cell] as number;
      if (size > 0)
        for (let i = 0; i < dimensions; i++)
          middles[cell * dimensions + i] = (sums[cell * dimensions + i] as number) / size;
    }
  }
  return middles;
}

function homesOf(rows: Float32Array, middles: Float32Array, dimensions: number): Uint32Array {
  return Uint32Array.from({ length: rows.length / dimensions }, (_, row) =>
    nearestMiddle(rows, row, middles, dimensions),
  );
}

function nearestMiddle(rows: Float32Array, row: number, middles: Float32Array, dimensions: number): number {
  let best = 0;
  let least = Infinity;
  for (let cell = 0; cell < middles.length / dimensions; cell++) {
    const distance = squared(rows, row * dimensions, middles, cell * dimensions, dimensions, least);
    if (distance < least) [least, best] = [distance, cell];
  }
  return best;
}

function nearestCells(middles: Float32Array, dimensions: number, cell: number, wanted: number): number[] {
  const all = Array.from({ length: middles.length / dimensions }, (_, other) => ({
    other,
    distance: squared(middles, cell * dimensions, middles, other * dimensions, dimensions, Infinity),
  }));
  return all
    .sort((a, b) => a.distance - b.distance)
    .slice(0, wanted)
    .map(({ other }) => other);
}
