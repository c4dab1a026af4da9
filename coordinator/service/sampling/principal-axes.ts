/**
 * Principal component analysis of many vectors by few axes (Halko, Martinsson & Tropp, "Finding structure with
 * randomness", 2011): a block of directions is multiplied by the covariance again and again, which is never formed, and
 * turned to its principal axes (Rayleigh–Ritz) each time. Deterministic: the same rows give the same axes with the same
 * signs. Pure.
 */

export interface PrincipalAxes {
  /** The centre of the rows. */
  mean: Float64Array;
  /** Row-major axes × dim, orthonormal, by falling variance. An axis along which nothing varies is all zeros. */
  axes: Float64Array;
  /** Share of the rows' variance along each axis, 0 to 1. */
  shares: number[];
}

/** Directions beside those that are wanted: the more, the fewer rounds until these are right. */
const SPARE_DIRECTIONS = 8;
/** A round costs 2 × rows × dim × directions multiplications; all together take about a second on one core. */
const MULTIPLICATIONS_MAX = 1.2e9;
const ROUNDS_MIN = 4;
const ROUNDS_MAX = 60;
/** The rounds end when no wanted variance changes by more than this part of the greatest. */
const CHANGE_MAX = 1e-5;
/** Of the greatest variance: less is the noise of float32. */
const NOTHING = 1e-12;

/** The axes of `rows`, row-major count × dim. `wanted` is at most `dim`. */
export function principalAxes(rows: Float32Array, dim: number, wanted: number): PrincipalAxes {
  const count = Math.floor(rows.length / dim);
  const mean = meanOf(rows, count, dim);
  const total = varianceOf(rows, mean, count, dim);
  const axes = new Float64Array(wanted * dim);
  const shares: number[] = new Array(wanted).fill(0);
  if (!(total > 0)) return { mean, axes, shares };
  const width = Math.min(dim, wanted + SPARE_DIRECTIONS);
  let block = startingBlock(width, dim);
  orthonormalise(block, width, dim);
  const rounds = Math.max(
    ROUNDS_MIN,
    Math.min(ROUNDS_MAX, Math.floor(MULTIPLICATIONS_MAX / (2 * count * dim * width))),
  );
  let variances: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const product = timesCovariance(rows, mean, block, { count, dim, width });
    const { values, vectors } = eigenOf(gram(block, product, width, dim), width);
    const hasSettled =
      round > 0 &&
      values.slice(0, wanted).every((value, i) => Math.abs(value - variances[i]) <= CHANGE_MAX * values[0]);
    variances = values;
    block = turned(product, vectors, width, dim);
    orthonormalise(block, width, dim);
    if (hasSettled) break;
  }
  for (let axis = 0; axis < wanted; axis++) {
    if (!(variances[axis] > NOTHING * variances[0])) continue;
    shares[axis] = Math.min(1, variances[axis] / total);
    axes.set(withSign(block.subarray(axis * dim, (axis + 1) * dim)), axis * dim);
  }
  return { mean, axes, shares };
}

/** The greatest float32. */
const COORDINATE_MAX = (2 - 2 ** -23) * 2 ** 127;

/**
 * The coordinates of `rows` along the axes, row-major, into `into` from `at`. What is beyond float32 stays at its end.
 */
export function project(
  rows: Float32Array,
  dim: number,
  { mean, axes }: PrincipalAxes,
  into: Float32Array,
  at: number,
): void {
  const width = axes.length / dim;
  // The mean's own coordinates are taken off once, instead of the mean from each row.
  const origin = Array.from({ length: width }, (_, axis) => dot(mean, 0, axes, axis * dim, dim));
  for (let from = 0, to = at; from < rows.length; from += dim) {
    for (let axis = 0; axis < width; axis++)
      into[to++] = Math.max(
        -COORDINATE_MAX,
        Math.min(COORDINATE_MAX, dot(rows, from, axes, axis * dim, dim) - origin[axis]),
      );
  }
}

/** Scales each row to length 1, as the metric cosine sees it; a row of zeros stays. */
export function toUnitRows(rows: Float32Array, dim: number): void {
  for (let from = 0; from < rows.length; from += dim) {
    const length = Math.sqrt(dot(rows, from, rows, from, dim));
    if (length > 0) for (let i = from; i < from + dim; i++) rows[i] /= length;
  }
}

type Numbers = Float32Array | Float64Array;

function dot(a: Numbers, aFrom: number, b: Numbers, bFrom: number, length: number): number {
  let even = 0;
  let odd = 0;
  let i = 0;
  for (; i + 1 < length; i += 2) {
    even += a[aFrom + i] * b[bFrom + i];
    odd += a[aFrom + i + 1] * b[bFrom + i + 1];
  }
  return i < length ? even + odd + a[aFrom + i] * b[bFrom + i] : even + odd;
}

function meanOf(rows: Float32Array, count: number, dim: number): Float64Array {
  const mean = new Float64Array(dim);
  for (let row = 0; row < count; row++) for (let i = 0; i < dim; i++) mean[i] += rows[row * dim + i];
  for (let i = 0; i < dim; i++) mean[i] /= Math.max(1, count);
  return mean;
}

function varianceOf(rows: Float32Array, mean: Float64Array, count: number, dim: number): number {
  let sum = 0;
  for (let row = 0; row < count; row++) for (let i = 0; i < dim; i++) sum += (rows[row * dim + i] - mean[i]) ** 2;
  return sum / Math.max(1, count);
}

/** Numbers without a pattern, the same each time (mulberry32). */
function startingBlock(width: number, dim: number): Float64Array {
  let state = 0x2545f491;
  return Float64Array.from({ length: width * dim }, () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 31 - 1;
  });
}

/** The covariance of the rows times each direction of the block. */
function timesCovariance(
  rows: Float32Array,
  mean: Float64Array,
  block: Float64Array,
  { count, dim, width }: { count: number; dim: number; width: number },
): Float64Array {
  const product = new Float64Array(width * dim);
  const row = new Float64Array(dim);
  for (let r = 0; r < count; r++) {
    for (let i = 0; i < dim; i++) row[i] = rows[r * dim + i] - mean[i];
    for (let d = 0; d < width; d++) addScaled(product, d * dim, row, dot(row, 0, block, d * dim, dim) / count);
  }
  return product;
}

function addScaled(into: Float64Array, at: number, row: Float64Array, factor: number): void {
  for (let i = 0; i < row.length; i++) into[at + i] += factor * row[i];
}

/** width × width, symmetric: how far each direction of `a` lies along each of `b`. */
function gram(a: Float64Array, b: Float64Array, width: number, dim: number): Float64Array {
  const result = new Float64Array(width * width);
  for (let i = 0; i < width; i++) {
    for (let j = 0; j <= i; j++) result[i * width + j] = result[j * width + i] = dot(a, i * dim, b, j * dim, dim);
  }
  return result;
}

/** Directions that are the given ones combined by the columns of `vectors`. */
function turned(block: Float64Array, vectors: Float64Array, width: number, dim: number): Float64Array {
  const result = new Float64Array(width * dim);
  for (let to = 0; to < width; to++) {
    for (let from = 0; from < width; from++)
      addScaled(result, to * dim, block.subarray(from * dim, (from + 1) * dim), vectors[from * width + to]);
  }
  return result;
}

/** Gram–Schmidt, twice, which is enough (Kahan, Parlett). A direction that the others span becomes zeros. */
function orthonormalise(block: Float64Array, width: number, dim: number): void {
  for (let d = 0; d < width; d++) {
    const direction = block.subarray(d * dim, (d + 1) * dim);
    const before = Math.sqrt(dot(direction, 0, direction, 0, dim));
    for (let pass = 0; pass < 2; pass++) {
      for (let other = 0; other < d; other++)
        addScaled(
          direction,
          0,
          block.subarray(other * dim, (other + 1) * dim),
          -dot(direction, 0, block, other * dim, dim),
        );
    }
    const length = Math.sqrt(dot(direction, 0, direction, 0, dim));
    const factor = length > NOTHING * before ? 1 / length : 0;
    for (let i = 0; i < dim; i++) direction[i] *= factor;
  }
}

/** Sweeps of Jacobi's method; it converges quadratically, in fewer than ten. */
const SWEEPS_MAX = 30;

/** Eigenvalues, falling, and eigenvectors as columns, of a symmetric matrix, by Jacobi's rotations. */
function eigenOf(matrix: Float64Array, width: number): { values: number[]; vectors: Float64Array } {
  const vectors = new Float64Array(width * width);
  for (let i = 0; i < width; i++) vectors[i * width + i] = 1;
  for (let sweep = 0; sweep < SWEEPS_MAX; sweep++) {
    let off = 0;
    let on = 0;
    for (let i = 0; i < width; i++) {
      on += matrix[i * width + i] ** 2;
      for (let j = 0; j < i; j++) off += matrix[i * width + j] ** 2;
    }
    if (off <= on * Number.EPSILON ** 2) break;
    for (let p = 0; p < width; p++) for (let q = p + 1; q < width; q++) rotate(matrix, vectors, width, p, q);
  }
  const order = Array.from({ length: width }, (_, i) => i).sort(
    (a, b) => matrix[b * width + b] - matrix[a * width + a],
  );
  const sorted = new Float64Array(width * width);
  order.forEach((from, to) => {
    for (let i = 0; i < width; i++) sorted[i * width + to] = vectors[i * width + from];
  });
  return { values: order.map((i) => matrix[i * width + i]), vectors: sorted };
}

/** One rotation that makes the element at (p, q) zero (Golub & Van Loan, "Matrix computations", 8.5). */
function rotate(matrix: Float64Array, vectors: Float64Array, width: number, p: number, q: number): void {
  const element = matrix[p * width + q];
  if (element === 0) return;
  const theta = (matrix[q * width + q] - matrix[p * width + p]) / (2 * element);
  const tangent = Math.sign(theta || 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const cosine = 1 / Math.sqrt(tangent * tangent + 1);
  const sine = tangent * cosine;
  for (let i = 0; i < width; i++) {
    const ip = matrix[i * width + p];
    const iq = matrix[i * width + q];
    matrix[i * width + p] = cosine * ip - sine * iq;
    matrix[i * width + q] = sine * ip + cosine * iq;
  }
  for (let i = 0; i < width; i++) {
    const pi = matrix[p * width + i];
    const qi = matrix[q * width + i];
    matrix[p * width + i] = cosine * pi - sine * qi;
    matrix[q * width + i] = sine * pi + cosine * qi;
    const vp = vectors[i * width + p];
    const vq = vectors[i * width + q];
    vectors[i * width + p] = cosine * vp - sine * vq;
    vectors[i * width + q] = sine * vp + cosine * vq;
  }
}

/** An axis and its opposite are as good: the one whose greatest element is positive. */
function withSign(axis: Float64Array): Float64Array {
  let greatest = 0;
  for (const element of axis) if (Math.abs(element) > Math.abs(greatest)) greatest = element;
  return greatest < 0 ? axis.map((element) => -element) : axis;
}
