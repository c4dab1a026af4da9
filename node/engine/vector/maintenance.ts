import type { NativeStatus } from './native-binding';

/** How rows are linked: quickly, to be refined later, or with care at once. */
export type Care = 'quick' | 'thorough';

/** What an index does next in the background. */
export type MaintenanceStep =
  | { type: 'sketch' }
  | { type: 'extend'; rows: number; care: Care }
  | { type: 'refine'; rows: number }
  | { type: 'compact' }
  | { type: 'calibrate' }
  | { type: 'cells' }
  | { type: 'nothing' };

/** What somebody asked for: the best index of the rows that were there. */
export interface Optimization {
  /** Rows to be in the graph, dead ones included; after the compaction, rows of the new numbering. */
  rows: number;
  /** Whether dead rows have been removed. */
  compacted: boolean;
}

/** What the next step depends on besides the state of the index. */
export interface MaintenanceInput {
  /** No put for a while, so the remaining rows are added, too. */
  idle: boolean;
  /**
   * While a load goes on that leaves no processor to spare: how many rows may wait for its end, see
   * {@link rowsThatWait}. 0: there is none.
   */
  waiting?: number;
  /** Somebody searches, as far as is known: only looked at during a load. */
  isSearched?: boolean;
  optimization: Optimization | null;
  /**
   * The first graph takes more rows than this in steps, so that they need not all be scanned until the last is linked.
   * Default: any number.
   */
  scannedSoon?: number;
  /** Below so many live rows there is no graph, and a step adds as many at least. */
  graphRowsMin: number;
}

/**
 * Below this many rows, a scan of the codes is as fast as a walk, and exact: no graph. (200,000 × 384 text embeddings:
 * a scan of 10,000 rows took 190 µs, a walk at the same recall 265.)
 */
export const GRAPH_ROWS_MIN = 10_000;

/**
 * Share of the graph's rows that may be dead before the live ones are copied and built again. Dead rows take their
 * share of a walk's steps, so at a quarter a search takes a third longer. Rebuilding earlier would cost more than
 * searches gain.
 */
export const DEAD_SHARE_MAX = 0.25;

/**
 * While puts continue, growing rows may collect up to this share of the graph, so that copying its links stays cheap.
 */
const BUSY_GROWING_SHARE = 1 / 64;
const BUSY_GROWING_MIN = 1_000;
/**
 * From so many components in a second on, rows are put about as fast as all processors of a small machine link them, or
 * faster.
 */
const LOAD_COMPONENTS_PER_SECOND = 1_000_000;
/** A scan of so many components, or of so many rows of few, takes some two or three milliseconds. */
const LOAD_GROWING_COMPONENTS = 40_000_000;
const LOAD_GROWING_ROWS = 125_000;
/**
 * So many times as many may wait while nobody searches: who comes then finds about as many after any load that is
 * faster than builders.
 */
const LOAD_UNSEARCHED = 4;
/** A load keeps about so many processors busy: with more, builders have some of their own. */
const LOAD_PROCESSORS = 4;
/** Scanning more rows than this takes longer than any walk. */
const BUSY_GROWING_MAX = 20_000;
/**
 * Once puts pause, fewer rows are worth a copy of the links: scanning the remaining ones then takes less than a tenth
 * of a walk.
 */
const IDLE_GROWING_SHARE = 1 / 2_000;
const IDLE_GROWING_MIN = 64;
/**
 * The graph grows by at most this share in a step, so that a long load becomes searchable by graph step by step. Adding
 * as many rows takes ten times as long as the copy that every step makes (a million rows: 0.2 s).
 */
const STEP_SHARE_MAX = 1 / 8;
/** More rows are linked quickly, and refined when no others wait. So many take less than a second with care. */
const THOROUGH_ROWS_MAX = 4_000;
/** Rows refined in a step: some seconds at most, in which rows that are put are scanned. */
const REFINED_ROWS = 16_384;
/** The growth since the last calibration after which another is due. */
const CALIBRATION_GROWTH = 1.5;
/**
 * The same while rows wait to be added or refined: measuring takes time from building, efforts grow slowly, and a graph
 * is measured again when it is refined.
 */
const CALIBRATION_GROWTH_BUSY = 3;

/**
 * From so many rows on that wait without a sketch, they get some. A scan of their codes takes a tenth of a millisecond,
 * and making as many sketches less than ten of one processor.
 */
const SKETCHED_ROWS_MIN = 16_384;
/**
 * So many rows take some seconds to be linked: meanwhile searches walk a graph that is small beside them, and shall
 * know how far. It is measured once it has this share of the rows. Until then a walk takes as long as the sketches of
 * all rows that wait.
 */
const LONG_BACKLOG_ROWS = 200_000;
const MEASURED_SHARE = 1 / 16;

/** Below so many rows, a scan of what a filter allows is as quick as anything. */
export const CELL_ROWS_MIN = 30_000;
/**
 * The growth of the graph after which cells are made again: rows that came later are scanned. A hundredth of building
 * them.
 */
const CELL_GROWTH = 1.1;

/**
 * The next step for an index in the given state. Rows that wait get sketches first, by which a search leaves out most
 * of them. While more rows wait than the graph has, it only grows, because measuring the effort of its walk would take
 * as long as building, unless very many wait. Otherwise a graph without a calibration
 * is calibrated before it grows on: until then, searches walk with a safe guess. Rows that wait come before the
 * refinement of others, because they are scanned.
 */
export function nextStep(status: NativeStatus, input: MaintenanceInput): MaintenanceStep {
  const { rows, live, graphRows, graphDead, refinedRows, effortRows, cellRows, unsketchedRows } = status;
  const { optimization, graphRowsMin, scannedSoon = Infinity } = input;
  const growing = rows - graphRows;
  const dead = rows - live;
  const { waiting = 0, isSearched = false } = input;
  const waits = waiting > 0 && growing <= waiting && optimization === null;
  const isSketched = unsketchedRows < SKETCHED_ROWS_MIN || (waits && !isSearched);
  if (optimization !== null && !optimization.compacted && dead > 0) return { type: 'compact' };
  if (graphRows === 0) {
    if (dead > live + graphRowsMin) return { type: 'compact' };
    if (live < graphRowsMin) return { type: 'nothing' };
    if (!isSketched) return { type: 'sketch' };
    if (waits) return { type: 'nothing' };
    if (dead > rows * DEAD_SHARE_MAX) return { type: 'compact' };
    // In one step, unless they are many or more of them keep coming: those that are linked are not scanned any more.
    const first =
      waiting === 0 && growing <= scannedSoon ? growing : Math.max(graphRowsMin, Math.ceil(growing * STEP_SHARE_MAX));
    return { type: 'extend', rows: first, care: careFor(first) };
  }
  if (graphDead > graphRows * DEAD_SHARE_MAX || dead - graphDead > graphRows + graphRowsMin) {
    return { type: 'compact' };
  }
  if (!isSketched) return { type: 'sketch' };
  if (waits) return { type: 'nothing' };
  const coarse = graphRows - refinedRows;
  const calibrationGrowth = growing > graphRows / 10 || coarse > 0 ? CALIBRATION_GROWTH_BUSY : CALIBRATION_GROWTH;
  if (effortRows === 0 && growing >= LONG_BACKLOG_ROWS && graphRows >= rows * MEASURED_SHARE)
    return { type: 'calibrate' };
  if (growing <= graphRows && (effortRows === 0 || graphRows >= effortRows * calibrationGrowth))
    return { type: 'calibrate' };
  if (growing >= growingLimit(graphRows, input)) {
    const added = Math.min(growing, Math.max(graphRowsMin, Math.ceil(graphRows * STEP_SHARE_MAX)));
    return { type: 'extend', rows: added, care: coarse > 0 ? 'quick' : careFor(added) };
  }
  if (coarse > 0) return { type: 'refine', rows: Math.min(coarse, REFINED_ROWS) };
  // Not for rows that came later: with puts that go on, there would always be some.
  if (optimization !== null && effortRows < Math.min(optimization.rows, graphRows)) return { type: 'calibrate' };
  // Last, because only filtered searches profit.
  if (graphRows >= CELL_ROWS_MIN && graphRows >= cellRows * CELL_GROWTH) return { type: 'cells' };
  return { type: 'nothing' };
}

/** So many rows are scanned in some two or three milliseconds. */
export function rowsScannedSoon(dim: number): number {
  return Math.min(LOAD_GROWING_ROWS, Math.floor(LOAD_GROWING_COMPONENTS / dim));
}

/**
 * How many rows may wait for the end of a load: what builders take from it makes it longer, on a machine whose
 * processors it keeps busy, and afterwards they have them for themselves. 0 while rows come so slowly that builders
 * follow them easily, or where there are processors enough. What waits is scanned, so it is less while somebody
 * searches (`isSearched`).
 */
export function rowsThatWait({
  dim,
  rowsPerSecond,
  processors,
  isSearched,
}: {
  dim: number;
  rowsPerSecond: number;
  processors: number;
  isSearched: boolean;
}): number {
  if (processors > LOAD_PROCESSORS || rowsPerSecond * dim < LOAD_COMPONENTS_PER_SECOND) return 0;
  return rowsScannedSoon(dim) * (isSearched ? 1 : LOAD_UNSEARCHED);
}

/** Whether what was asked for is done, however much came since. */
export function isOptimized(
  { rows, live, graphRows, refinedRows, effortRows }: NativeStatus,
  optimization: Optimization,
): boolean {
  const isCompact = optimization.compacted || rows === live;
  return isCompact && Math.min(graphRows, refinedRows, effortRows) >= optimization.rows;
}

function careFor(rows: number): Care {
  return rows > THOROUGH_ROWS_MAX ? 'quick' : 'thorough';
}

/** From how many growing rows on they are added to the graph. */
function growingLimit(graphRows: number, { idle, optimization }: MaintenanceInput): number {
  if (optimization !== null && graphRows < optimization.rows) return 1;
  if (idle) return Math.max(IDLE_GROWING_MIN, graphRows * IDLE_GROWING_SHARE);
  return Math.min(Math.max(BUSY_GROWING_MIN, graphRows * BUSY_GROWING_SHARE), BUSY_GROWING_MAX);
}
