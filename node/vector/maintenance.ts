import type { NativeStatus } from './native-binding';

/** What an index does next in the background. */
export type MaintenanceStep = { type: 'extend'; rows: number } | { type: 'compact' } | { type: 'calibrate' } | { type: 'nothing' };

/**
 * Below this many rows, a scan of the codes is as fast as a walk, and exact: no graph. (200,000 × 384 text embeddings:
 * a scan of 10,000 rows took 190 µs, a walk at the same recall 265.)
 */
export const GRAPH_ROWS_MIN = 10_000;

/**
 * Share of the graph's rows that may be dead before the live ones are copied and built anew. Dead rows take their share
 * of a walk's steps, so at a quarter a search takes a third longer. Rebuilding earlier would cost more than searches
 * gain.
 */
export const DEAD_SHARE_MAX = 0.25;

/** While puts continue, growing rows may collect up to this share of the graph, so that copying its links stays cheap. */
const BUSY_GROWING_SHARE = 1 / 64;
const BUSY_GROWING_MIN = 1_000;
/** Scanning more rows than this takes longer than any walk. */
const BUSY_GROWING_MAX = 20_000;
/**
 * Once puts pause, fewer rows are worth a copy of the links: scanning the remaining ones then takes less than a tenth
 * of a walk.
 */
const IDLE_GROWING_SHARE = 1 / 2_000;
const IDLE_GROWING_MIN = 64;
/** The graph grows by at most half in a step, so that a long load becomes searchable by graph step by step. */
const STEP_SHARE_MAX = 1 / 2;
/** The growth since the last calibration after which another is due. */
const CALIBRATION_GROWTH = 1.5;
/** The same while rows wait to be added: measuring takes time from building, and efforts grow slowly. */
const CALIBRATION_GROWTH_BUSY = 3;

/**
 * The next step for an index in the given state. `idle`: no put for a while, so the remaining rows are added, too. If
 * there was no calibration yet, it comes before more growth: until then, searches walk with a safe guess.
 * `graphRowsMin`: below so many live rows there is no graph, and a step adds as many at least.
 */
export function nextStep(status: NativeStatus, idle: boolean, graphRowsMin = GRAPH_ROWS_MIN): MaintenanceStep {
  const { rows, live, graphRows, graphDead, effortRows } = status;
  const growing = rows - graphRows;
  const dead = rows - live;
  if (graphRows === 0) {
    if (dead > live + graphRowsMin) return { type: 'compact' };
    if (live < graphRowsMin) return { type: 'nothing' };
    return dead > rows * DEAD_SHARE_MAX ? { type: 'compact' } : { type: 'extend', rows: growing };
  }
  if (graphDead > graphRows * DEAD_SHARE_MAX || dead - graphDead > graphRows + graphRowsMin) {
    return { type: 'compact' };
  }
  const calibrationGrowth = growing > graphRows / 10 ? CALIBRATION_GROWTH_BUSY : CALIBRATION_GROWTH;
  if (effortRows === 0 || graphRows >= effortRows * calibrationGrowth) return { type: 'calibrate' };
  const busyLimit = Math.min(Math.max(BUSY_GROWING_MIN, graphRows * BUSY_GROWING_SHARE), BUSY_GROWING_MAX);
  const idleLimit = Math.max(IDLE_GROWING_MIN, graphRows * IDLE_GROWING_SHARE);
  if (growing < (idle ? idleLimit : busyLimit)) return { type: 'nothing' };
  return { type: 'extend', rows: Math.min(growing, Math.max(graphRowsMin, Math.ceil(graphRows * STEP_SHARE_MAX))) };
}
