import { nearestNeighbours } from './knn';
import { fuzzyGraph, UmapLayout } from './umap-layout';
import type { UmapNews, UmapTask } from './umap-messages';

const NEIGHBOURS = 15;
/** Fewer for many, as the authors do: each costs more, and does more. */
const EPOCHS = 500;
const EPOCHS_OF_MANY = 200;
const MANY = 10_000;
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
  const neighbours = nearestNeighbours(rows, dimensions, k, (share) => {
    if (share - told < 0.02 && share < 1) return;
    told = share;
    scope.postMessage({ type: 'progress', phase: 'neighbours', share });
  });

  const graph = fuzzyGraph(neighbours);
  const places = start.map((value) => value * START_EXTENT);
  const layout = new UmapLayout(places, graph, count > MANY ? EPOCHS_OF_MANY : EPOCHS, seeded(SEED));

  let shownAt = 0;
  for (let epoch = 1; epoch <= layout.epochs; epoch++) {
    layout.step();
    const now = performance.now();
    if (now - shownAt < SHOWN_EVERY_MS && epoch < layout.epochs) continue;
    shownAt = now;
    const points = places.slice();
    scope.postMessage({ type: 'progress', phase: 'layout', share: epoch / layout.epochs });
    scope.postMessage({ type: 'places', points, isLast: epoch === layout.epochs }, { transfer: [points.buffer] });
  }
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
