import type { Neighbours } from './knn';

/**
 * UMAP (McInnes, Healy and Melville, 2018) over neighbours that are known: the graph of fuzzy neighbourhoods, and its
 * layout by drawing its edges together and random pairs apart. In flat arrays of numbers, for tens of thousands of
 * points.
 */

/** An edge from one point to another, and how strong it is, above 0 and at most 1. */
export interface FuzzyGraph {
  heads: Uint32Array;
  tails: Uint32Array;
  weights: Float32Array;
}

/** Bandwidths are looked for so long, and so nearly: as the authors do. */
const SEARCH_ROUNDS = 64;
const SEARCH_TOLERANCE = 1e-5;
/** Of the mean distance, the least bandwidth. */
const BANDWIDTH_MIN = 1e-3;

/**
 * Neighbourhoods of which each reaches so far that it holds log₂ k neighbours; an edge is there if either end has it.
 */
export function fuzzyGraph({ k, indices, distances }: Neighbours): FuzzyGraph {
  const count = indices.length / k;
  const mean = distances.reduce((sum, distance) => sum + distance, 0) / Math.max(1, distances.length);
  const strengths = new Float32Array(indices.length);
  for (let row = 0; row < count; row++) {
    const own = distances.subarray(row * k, (row + 1) * k);
    const nearest = own.find((distance) => distance > 0) ?? 0;
    const bandwidth = Math.max(bandwidthOf(own, nearest), BANDWIDTH_MIN * mean, Number.MIN_VALUE);
    for (let i = 1; i < k; i++)
      strengths[row * k + i] = Math.exp(-Math.max(0, (own[i] as number) - nearest) / bandwidth);
  }
  return united(indices, strengths, k);
}

function bandwidthOf(distances: Float32Array, nearest: number): number {
  const wanted = Math.log2(distances.length);
  let [low, high, middle] = [0, Infinity, 1];
  for (let round = 0; round < SEARCH_ROUNDS; round++) {
    let sum = 0;
    for (let i = 1; i < distances.length; i++)
      sum += Math.exp(-Math.max(0, (distances[i] as number) - nearest) / middle);
    if (Math.abs(sum - wanted) < SEARCH_TOLERANCE) break;
    if (sum > wanted) {
      high = middle;
      middle = (low + high) / 2;
    } else {
      low = middle;
      middle = high === Infinity ? middle * 2 : (low + high) / 2;
    }
  }
  return middle;
}

/** a + b − ab for the strengths of an edge seen from its two ends; each edge once. */
function united(indices: Uint32Array, strengths: Float32Array, k: number): FuzzyGraph {
  const heads: number[] = [];
  const tails: number[] = [];
  const weights: number[] = [];
  const strengthOf = (row: number, other: number): number => {
    for (let i = 1; i < k; i++) if (indices[row * k + i] === other) return strengths[row * k + i] as number;
    return 0;
  };
  for (let row = 0; row < indices.length / k; row++) {
    for (let i = 1; i < k; i++) {
      const other = indices[row * k + i] as number;
      const there = strengths[row * k + i] as number;
      const back = strengthOf(other, row);
      // Seen from both ends, it is taken from the one with the lower number.
      if (other === row || (back > 0 && other < row)) continue;
      heads.push(row);
      tails.push(other);
      weights.push(there + back - there * back);
    }
  }
  return { heads: Uint32Array.from(heads), tails: Uint32Array.from(tails), weights: Float32Array.from(weights) };
}

/** Of the curve 1 / (1 + a·d^(2b)) that fits a spread of 1 and a least distance of 0.1. */
const A = 1.577;
const B = 0.8951;
const NEGATIVES = 5;
/** One step moves a point no farther along an axis. */
const STEP_MAX = 4;

/** The layout, epoch by epoch; `places` (x, y of each point) move in place. */
export class UmapLayout {
  /** For each edge, after how many epochs it is drawn together once, and when next. */
  private readonly periods: Float32Array;
  private readonly next: Float32Array;
  private epoch = 0;

  constructor(
    private readonly places: Float32Array,
    private readonly graph: FuzzyGraph,
    readonly epochs: number,
    private readonly random: () => number,
  ) {
    const strongest = graph.weights.reduce((most, weight) => Math.max(most, weight), 0);
    this.periods = graph.weights.map((weight) => strongest / weight);
    this.next = this.periods.slice();
  }

  step(): void {
    const { places, graph, periods, next, random } = this;
    const { heads, tails } = graph;
    const rate = 1 - this.epoch / this.epochs;
    this.epoch++;
    const count = places.length / 2;
    for (let edge = 0; edge < heads.length; edge++) {
      if ((next[edge] as number) > this.epoch) continue;
      next[edge] = (next[edge] as number) + (periods[edge] as number);
      const [head, tail] = [heads[edge] as number, tails[edge] as number];
      this.pull(head, tail, rate);
      for (let i = 0; i < NEGATIVES; i++) {
        this.push(head, Math.floor(random() * count), rate);
        this.push(tail, Math.floor(random() * count), rate);
      }
    }
  }

  private pull(a: number, b: number, rate: number): void {
    const { places } = this;
    const dx = (places[2 * a] as number) - (places[2 * b] as number);
    const dy = (places[2 * a + 1] as number) - (places[2 * b + 1] as number);
    const square = dx * dx + dy * dy;
    if (square === 0) return;
    const power = square ** B;
    const factor = (-2 * A * B * (power / square)) / (1 + A * power);
    const [x, y] = [rate * clipped(factor * dx), rate * clipped(factor * dy)];
    places[2 * a] = (places[2 * a] as number) + x;
    places[2 * a + 1] = (places[2 * a + 1] as number) + y;
    places[2 * b] = (places[2 * b] as number) - x;
    places[2 * b + 1] = (places[2 * b + 1] as number) - y;
  }

  private push(point: number, other: number, rate: number): void {
    if (point === other) return;
    const { places } = this;
    const dx = (places[2 * point] as number) - (places[2 * other] as number);
    const dy = (places[2 * point + 1] as number) - (places[2 * other + 1] as number);
    const square = dx * dx + dy * dy;
    const factor = (2 * B) / ((0.001 + square) * (1 + A * square ** B));
    // Points that lie on each other part in some direction.
    places[2 * point] =
      (places[2 * point] as number) + rate * (square > 0 ? clipped(factor * dx) : STEP_MAX * (this.random() - 0.5));
    places[2 * point + 1] =
      (places[2 * point + 1] as number) + rate * (square > 0 ? clipped(factor * dy) : STEP_MAX * (this.random() - 0.5));
  }
}

function clipped(value: number): number {
  return value > STEP_MAX ? STEP_MAX : value < -STEP_MAX ? -STEP_MAX : value;
}
