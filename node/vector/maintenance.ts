import type { NativeStatus } from './native-binding';

/** What an index does next in the background. */
export type MaintenanceStep =
  | { type: 'extend'; rows: number }
  | { type: 'compact' }
  | { type: 'calibrate' }
  | { type: 'nothing' };

/**
 * Below this many rows a scan of the codes answers as fast as a walk, and exactly: no graph. (200,000 × 384 text
 * embeddings: a scan of 10,000 rows took 190 µs, a walk at the same recall 265.)
 */
export const GRAPH_ROWS_MIN = 10_000;

/**
 * Share of the graph's rows that may be dead before the live ones are copied out and built anew. Dead rows cost a walk
 * their share of its steps, so at a quarter a search takes a third longer; rebuilding earlier would spend more on
 * building than searching gets back.
 */
export const DEAD_SHARE_MAX = 0.25;

/** While puts go on, growing rows are let gather to this share of the graph, so that copying its links stays cheap. */
const BUSY_GROWING_SHARE = 1 / 64;
const BUSY_GROWING_MIN = 1_000;
/** A scan of so many takes longer than any walk. */
const BUSY_GROWING_MAX = 20_000;
/** Once puts pause, fewer are worth a copy of the links: what is left scanned is then under a tenth of a walk. */
const IDLE_GROWING_SHARE = 1 / 2_000;
const IDLE_GROWING_MIN = 64;
/** The graph grows at most by half at a step, so that a long load is searchable by graph bit by bit. */
const STEP_SHARE_MAX = 1 / 2;
/** Growth since the last calibration that asks for another. */
const CALIBRATION_GROWTH = 1.5;
/** The same while a backlog waits: measuring takes time from building, and efforts grow slowly. */
const CALIBRATION_GROWTH_BUSY = 3;

/**
 * The next step for an index in the given state; `idle`: no put for a while, so what is left over is taken in too.
 * Calibration comes before more growth when there was none: until then searches walk with a guess on the safe side.
 */
export function nextStep(status: NativeStatus, idle: boolean): MaintenanceStep {
  const { rows, live, graphRows, graphDead, effortRows } = status;
  const growing = rows - graphRows;
  const dead = rows - live;
  if (graphRows === 0) {
    if (dead > live + GRAPH_ROWS_MIN) return { type: 'compact' };
    if (live < GRAPH_ROWS_MIN) return { type: 'nothing' };
    return dead > rows * DEAD_SHARE_MAX ? { type: 'compact' } : { type: 'extend', rows: growing };
  }
  if (graphDead > graphRows * DEAD_SHARE_MAX || dead - graphDead > graphRows + GRAPH_ROWS_MIN) {
    return { type: 'compact' };
  }
  const calibrationGrowth = growing > graphRows / 10 ? CALIBRATION_GROWTH_BUSY : CALIBRATION_GROWTH;
  if (effortRows === 0 || graphRows >= effortRows * calibrationGrowth) return { type: 'calibrate' };
  const busyLimit = Math.min(Math.max(BUSY_GROWING_MIN, graphRows * BUSY_GROWING_SHARE), BUSY_GROWING_MAX);
  const idleLimit = Math.max(IDLE_GROWING_MIN, graphRows * IDLE_GROWING_SHARE);
  if (growing < (idle ? idleLimit : busyLimit)) return { type: 'nothing' };
  return { type: 'extend', rows: Math.min(growing, Math.max(GRAPH_ROWS_MIN, Math.ceil(graphRows * STEP_SHARE_MAX))) };
}
