import { UMAP } from 'umap-js';
import { nearestNeighbours } from './knn';
import type { UmapNews, UmapTask } from './umap-messages';

const NEIGHBOURS = 15;
const MIN_DIST = 0.08;
/** The picture begins within ± this, as UMAP's own random beginning does. */
const START_EXTENT = 10;
/** The page sees the points move so often; more would cost more than it shows. */
const SHOWN_EVERY_MS = 400;
const SEED = 0x51ed27;

/** As much of the DOM's worker scope as is used here. */
interface Scope {
  postMessage(message: UmapNews, options?: { transfer: Transferable[] }): void;
  addEventListener(type: 'message', listener: (event: MessageEvent<UmapTask>) => void): void;
}
const scope = globalThis as unknown as Scope;

scope.addEventListener('message', ({ data }) => {
  try {
    run(data);
  } catch (error) {
    scope.postMessage({ type: 'failed', reason: error instanceof Error ? error.message : String(error) });
  }
});

function run({ rows, dimensions, start }: UmapTask): void {
  const count = rows.length / dimensions;
  const k = Math.min(NEIGHBOURS, count - 1);
  let told = 0;
  const { indices, distances } = nearestNeighbours(rows, dimensions, k, (share) => {
    if (share - told < 0.02 && share < 1) return;
    told = share;
    scope.postMessage({ type: 'progress', phase: 'neighbours', share });
  });

  // The next step tells nothing of itself until it is done: for 50,000 points, some half a minute.
  scope.postMessage({ type: 'progress', phase: 'graph', share: 0 });
  const umap = new UMAP({ nComponents: 2, nNeighbors: k, minDist: MIN_DIST, random: seeded(SEED) });
  umap.setPrecomputedKNN(listsOf(indices, k), listsOf(distances, k));
  // Of the rows themselves it needs only how many there are: their neighbours are known.
  const epochs = umap.initializeFit(Array.from({ length: count }, () => []));
  const embedding = umap.getEmbedding();
  embedding.forEach((place, i) => {
    place[0] = (start[2 * i] as number) * START_EXTENT;
    place[1] = (start[2 * i + 1] as number) * START_EXTENT;
  });

  let shownAt = 0;
  for (let epoch = 1; epoch <= epochs; epoch++) {
    umap.step();
    const now = performance.now();
    if (now - shownAt < SHOWN_EVERY_MS && epoch < epochs) continue;
    shownAt = now;
    const points = Float32Array.from(umap.getEmbedding().flat());
    scope.postMessage({ type: 'progress', phase: 'layout', share: epoch / epochs });
    scope.postMessage({ type: 'places', points, isLast: epoch === epochs }, { transfer: [points.buffer] });
  }
}

function listsOf(values: Uint32Array | Float32Array, k: number): number[][] {
  return Array.from({ length: values.length / k }, (_, row) => [...values.subarray(row * k, (row + 1) * k)]);
}

/** mulberry32: the same picture each time. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
