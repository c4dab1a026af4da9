/** Between the page and the worker that makes a UMAP. */

export interface UmapTask {
  rows: Float32Array;
  dimensions: number;
  /** Where the points are now, from which the picture unfolds: x, y of each. */
  start: Float32Array;
}

export type UmapNews =
  | { type: 'progress'; phase: 'neighbours' | 'layout'; share: number }
  /** x, y of each point as they are now. */
  | { type: 'places'; points: Float32Array; isLast: boolean }
  | { type: 'failed'; reason: string };
