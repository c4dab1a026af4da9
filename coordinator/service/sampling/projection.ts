import { toUnitRows, principalAxes, type PrincipalAxes, project } from './principal-axes';

/** What is to be projected. */
export interface ProjectionPlan {
  dim: number;
  dimensions: number;
  /** Rows that will come, at most. */
  rowsMax: number;
  /** Whether rows count by their direction alone, as the metric cosine sees them. */
  normalised: boolean;
}

export interface ProjectedRows {
  /** Row-major, rows × dimensions, in the order in which the rows came. */
  coordinates: Float32Array;
  shares: number[];
  /** The least and the greatest coordinate along each axis; empty without rows. */
  minima: number[];
  maxima: number[];
}

/**
 * Floats that the axes are found from, 16 MiB: the first rows that come, which are a sample of the others, because
 * samples come in an order without meaning. So neither memory nor time grows with their number.
 */
const FIT_FLOATS = 4 * 1024 * 1024;

/** Finds the axes of the rows that come, and where each row is along them. Pure. */
export class Projection {
  private readonly plan: ProjectionPlan;
  private readonly fitRows: number;
  private readonly coordinates: Float32Array;
  private waiting: Float32Array[] = [];
  private waitingRows = 0;
  private axes: PrincipalAxes | null = null;
  private done = 0;

  constructor(plan: ProjectionPlan, fitFloats = FIT_FLOATS) {
    this.plan = plan;
    this.fitRows = Math.max(1, Math.floor(fitFloats / plan.dim));
    this.coordinates = new Float32Array(plan.rowsMax * plan.dimensions);
  }

  /** Takes the next rows, row-major; they are changed. */
  take(rows: Float32Array): void {
    const { dim, normalised } = this.plan;
    if (normalised) toUnitRows(rows, dim);
    if (this.axes !== null) return this.place(rows, this.axes);
    this.waiting.push(rows);
    this.waitingRows += rows.length / dim;
    if (this.waitingRows >= this.fitRows) this.fit();
  }

  /** The result; nothing may come after that. */
  finish(): ProjectedRows {
    const { shares } = this.axes ?? this.fit();
    const coordinates = this.coordinates.subarray(0, this.done * this.plan.dimensions);
    return { coordinates, shares, ...boundsOf(coordinates, this.plan.dimensions) };
  }

  private fit(): PrincipalAxes {
    const { dim, dimensions } = this.plan;
    const all = new Float32Array(this.waitingRows * dim);
    let at = 0;
    for (const rows of this.waiting.splice(0)) {
      all.set(rows, at);
      at += rows.length;
    }
    const axes = principalAxes(all, dim, dimensions);
    this.axes = axes;
    this.place(all, axes);
    return axes;
  }

  private place(rows: Float32Array, axes: PrincipalAxes): void {
    project(rows, this.plan.dim, axes, this.coordinates, this.done * this.plan.dimensions);
    this.done += rows.length / this.plan.dim;
  }
}

function boundsOf(coordinates: Float32Array, dimensions: number): { minima: number[]; maxima: number[] } {
  if (coordinates.length === 0) return { minima: [], maxima: [] };
  const minima: number[] = new Array(dimensions).fill(Infinity);
  const maxima: number[] = new Array(dimensions).fill(-Infinity);
  for (let i = 0; i < coordinates.length; i++) {
    const axis = i % dimensions;
    if (coordinates[i] < minima[axis]) minima[axis] = coordinates[i];
    if (coordinates[i] > maxima[axis]) maxima[axis] = coordinates[i];
  }
  return { minima, maxima };
}
