import type { IndexProgress } from '../../../shared/contract/shard/shard-read';
import type { MaintenanceStep } from './maintenance';
import type { NativeStatus } from './native-binding';

/**
 * Refining a row takes about as many times as long as linking it quickly (docs/lab/README.md), until it was measured.
 */
const REFINING_SHARE = 4;

const STATES = {
  sketch: 'indexing',
  extend: 'indexing',
  refine: 'refining',
  compact: 'compacting',
  calibrate: 'measuring',
  cells: 'measuring',
  nothing: 'ready',
} as const;

/** How fast an index is built, and so how long it will take. */
export class BuildingPace {
  private extendMsPerRow: number | null = null;
  private refineMsPerRow: number | null = null;
  private calibrateMs = 0;

  /** A step of so many rows is over. */
  note(step: MaintenanceStep, ms: number): void {
    if (step.type === 'extend') this.extendMsPerRow = ms / step.rows;
    if (step.type === 'refine') this.refineMsPerRow = ms / step.rows;
    if (step.type === 'calibrate') this.calibrateMs = ms;
  }

  /** The progress of an index in this state, whose present or next step is `step`. */
  progress(status: NativeStatus, step: MaintenanceStep, optimizing: boolean): IndexProgress {
    const { rows, graphRows, refinedRows } = status;
    const state = STATES[step.type];
    return {
      state,
      rows,
      indexedRows: graphRows,
      refinedRows,
      secondsLeft: state === 'ready' ? 0 : this.secondsLeft(status, step),
      optimizing,
    };
  }

  /** null: no step of the kind was measured yet. */
  private secondsLeft({ rows, graphRows, refinedRows }: NativeStatus, step: MaintenanceStep): number | null {
    const refineMs =
      this.refineMsPerRow ?? (this.extendMsPerRow === null ? null : this.extendMsPerRow * REFINING_SHARE);
    if (step.type === 'compact' || refineMs === null || (rows > graphRows && this.extendMsPerRow === null)) return null;
    return (
      ((rows - graphRows) * (this.extendMsPerRow ?? 0) + (rows - refinedRows) * refineMs + this.calibrateMs) / 1000
    );
  }
}
