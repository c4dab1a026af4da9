import { nearestNeighbours } from '../../../../dashboard/map/knn';
import { seededRandom } from '../../../support/values/random';
import { clusteredVectors } from '../../../support/values/vector-clusters';

const DIM = 8;
const K = 10;

/** Share of the true neighbours, those of a look at all rows, that were found; of some rows. */
function recallOf(rows: Float32Array, indices: Uint32Array): number {
  const count = rows.length / DIM;
  let right = 0;
  const looked = 40;
  for (let i = 0; i < looked; i++) {
    const row = Math.floor((i * count) / looked);
    const distances = Array.from({ length: count }, (_, other) => ({
      other,
      distance: Array.from({ length: DIM }, (_unused, j) => (rows[row * DIM + j] - rows[other * DIM + j]) ** 2).reduce(
        (sum, value) => sum + value,
        0,
      ),
    }));
    distances[row].distance = -1;
    const wanted = new Set(
      distances
        .sort((a, b) => a.distance - b.distance)
        .slice(0, K)
        .map(({ other }) => other),
    );
    right += [...indices.subarray(row * K, (row + 1) * K)].filter((other) => wanted.has(other)).length;
  }
  return right / (looked * K);
}

test.each([
  ['all', 500, 1],
  ['nearly all', 4000, 0.9],
])('finds %s neighbours among %i rows, itself first, and tells how far it is', (_, count, least) => {
  const rows = clusteredVectors(seededRandom(7), { rows: count, dim: DIM, centres: 12 });
  const told: number[] = [];
  const { indices, distances } = nearestNeighbours(rows, DIM, K, (share) => told.push(share));
  expect(recallOf(rows, indices)).toBeGreaterThanOrEqual(least);
  for (let row = 0; row < count; row++) {
    expect(indices[row * K]).toBe(row);
    expect(distances[row * K]).toBe(0);
  }
  expect(told.at(-1)).toBe(1);
});

test('rows that are all the same have neighbours, too', () => {
  const { indices, distances } = nearestNeighbours(new Float32Array(40 * DIM).fill(1), DIM, 5);
  expect([...distances].every((distance) => distance === 0)).toBe(true);
  expect([...indices].every((index) => index < 40)).toBe(true);
});
