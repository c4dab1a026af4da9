import { principalAxes } from '../../../../../coordinator/service/sampling/principal-axes';
import { Projection } from '../../../../../coordinator/service/sampling/projection';

/** Numbers without a pattern from a seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
}

/** Rows that vary by `spreads` along the axes of a random rotation, which it answers, too. */
function cloud(count: number, spreads: number[], seed: number): { rows: Float32Array; basis: number[][] } {
  const random = randomOf(seed);
  const dim = spreads.length;
  const basis: number[][] = [];
  for (let i = 0; i < dim; i++) {
    let direction = Array.from({ length: dim }, random);
    for (const other of basis) {
      const along = direction.reduce((sum, x, j) => sum + x * other[j], 0);
      direction = direction.map((x, j) => x - along * other[j]);
    }
    const length = Math.hypot(...direction);
    basis.push(direction.map((x) => x / length));
  }
  const rows = new Float32Array(count * dim);
  for (let row = 0; row < count; row++) {
    for (let i = 0; i < dim; i++) {
      const along = random() * spreads[i];
      for (let j = 0; j < dim; j++) rows[row * dim + j] += along * basis[i][j] + (i === 0 ? 3 : 0);
    }
  }
  return { rows, basis };
}

const cosine = (a: number[], b: number[]): number => a.reduce((sum, x, i) => sum + x * b[i], 0);

describe('principal axes', () => {
  test('are the directions along which rows vary most, wherever their centre is', () => {
    const { rows, basis } = cloud(3_000, [8, 4, 2, ...new Array<number>(27).fill(0.2)], 5);
    const { axes, shares } = principalAxes(rows, 30, 3);
    for (let axis = 0; axis < 3; axis++) {
      expect(Math.abs(cosine([...axes.subarray(axis * 30, (axis + 1) * 30)], basis[axis]))).toBeGreaterThan(0.995);
    }
    // Shares of squares: 64 : 16 : 4, and 27 × 0.04 of noise.
    expect(shares[0]).toBeCloseTo(64 / 85.08, 1);
    expect(shares[1]).toBeCloseTo(16 / 85.08, 1);
  });

  test('are orthonormal, and their greatest element is positive', () => {
    const { axes } = principalAxes(cloud(500, [5, 5, 5, 1, 1, 1, 1, 1], 6).rows, 8, 6);
    for (let a = 0; a < 6; a++) {
      const axis = [...axes.subarray(a * 8, a * 8 + 8)];
      for (let b = 0; b <= a; b++)
        expect(cosine(axis, [...axes.subarray(b * 8, b * 8 + 8)])).toBeCloseTo(a === b ? 1 : 0, 6);
      expect(axis.reduce((greatest, x) => (Math.abs(x) > Math.abs(greatest) ? x : greatest))).toBeGreaterThan(0);
    }
  });

  test('are zeros where nothing varies', () => {
    const same = new Float32Array(40).fill(2);
    expect(principalAxes(same, 4, 2)).toMatchObject({ shares: [0, 0], axes: new Float64Array(8) });
    // On a line.
    const { axes, shares } = principalAxes(Float32Array.of(0, 0, 1, 1, 2, 2, 5, 5), 2, 2);
    expect(shares[0]).toBeCloseTo(1, 6);
    expect(shares[1]).toBe(0);
    expect([...axes].map((x) => Math.round(x * 1e6) / 1e6)).toEqual([0.707107, 0.707107, 0, 0]);
    expect(principalAxes(new Float32Array(0), 3, 2).shares).toEqual([0, 0]);
  });
});

describe('a projection', () => {
  const plan = { dim: 6, dimensions: 2, rowsMax: 900, normalised: false };
  const { rows } = cloud(900, [6, 3, 1, 0.1, 0.1, 0.1], 7);

  test('is the same however the rows are cut into pages, and keeps their order', () => {
    const whole = new Projection(plan);
    whole.take(rows.slice());
    const paged = new Projection(plan);
    for (let row = 0; row < 900; row += 70) paged.take(rows.slice(row * 6, Math.min(900, row + 70) * 6));
    const expected = whole.finish();
    expect(paged.finish()).toEqual(expected);
    expect(expected.coordinates).toHaveLength(1_800);
    expect(expected.minima[0]).toBeLessThan(-2.5);
    expect(expected.maxima[0]).toBeGreaterThan(2.5);
  });

  test('finds its axes from the first rows, and places the others along them', () => {
    const whole = new Projection(plan);
    whole.take(rows.slice());
    const early = new Projection(plan, 300 * 6);
    for (let row = 0; row < 900; row += 100) early.take(rows.slice(row * 6, (row + 100) * 6));
    const [a, b] = [whole.finish().coordinates, early.finish().coordinates];
    const distance = a.reduce((sum, x, i) => sum + Math.abs(x - b[i]), 0) / a.length;
    expect(distance).toBeLessThan(0.15);
  });

  test('of directions leaves lengths out', () => {
    const projected = (scale: number): Float32Array => {
      const projection = new Projection({ dim: 2, dimensions: 1, rowsMax: 3, normalised: true });
      projection.take(Float32Array.of(1, 0, 0, scale, -2 * scale, 0));
      return projection.finish().coordinates;
    };
    expect(projected(1)).toEqual(projected(64));
  });

  test('of rows that are as long as float32 allows has coordinates that are numbers', () => {
    const projection = new Projection({ dim: 4, dimensions: 2, rowsMax: 3, normalised: false });
    projection.take(Float32Array.from([3e38, -3e38, 1].flatMap((x) => [x, x, x, x])));
    const { coordinates, minima, maxima } = projection.finish();
    expect([...coordinates, ...minima, ...maxima].filter((x) => !Number.isFinite(x))).toEqual([]);
    expect(Math.abs(coordinates[0] - coordinates[2])).toBeGreaterThan(6e38);
  });

  test('of fewer rows than were announced has as many coordinates as rows', () => {
    const projection = new Projection(plan);
    projection.take(rows.slice(0, 12));
    expect(projection.finish().coordinates).toHaveLength(4);
    expect(new Projection(plan).finish()).toEqual({
      coordinates: new Float32Array(0),
      shares: [0, 0],
      minima: [],
      maxima: [],
    });
  });
});
