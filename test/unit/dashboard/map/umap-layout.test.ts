import { nearestNeighbours } from '../../../../dashboard/map/knn';
import { fuzzyGraph, UmapLayout } from '../../../../dashboard/map/umap-layout';
import { seededRandom } from '../../../support/values/random';

const DIM = 6;
const CENTRES = 5;
const COUNT = 400;

/** Rows around centres: row i is of centre i mod CENTRES. */
function clusters(random: () => number): Float32Array {
  const normal = (): number => random() + random() + random() - 1.5;
  const centres = Array.from({ length: CENTRES * DIM }, () => 4 * normal());
  return Float32Array.from(
    { length: COUNT * DIM },
    (_, i) => centres[(Math.floor(i / DIM) % CENTRES) * DIM + (i % DIM)] + 0.3 * normal(),
  );
}

function laidOut(seed: number): Float32Array {
  const random = seededRandom(seed);
  const graph = fuzzyGraph(nearestNeighbours(clusters(seededRandom(3)), DIM, 12));
  const places = Float32Array.from({ length: 2 * COUNT }, () => 20 * random() - 10);
  const layout = new UmapLayout(places, graph, 150, random);
  for (let epoch = 0; epoch < layout.epochs; epoch++) layout.step();
  return places;
}

test('the graph has each edge once, with a strength that either end gives it', () => {
  const { heads, tails, weights } = fuzzyGraph(nearestNeighbours(clusters(seededRandom(3)), DIM, 12));
  const edges = [...heads].map((head, i) => [Math.min(head, tails[i]), Math.max(head, tails[i])].join());
  expect(new Set(edges).size).toBe(edges.length);
  expect([...weights].every((weight) => weight > 0 && weight <= 1.000001)).toBe(true);
  // Everybody's nearest neighbour is joined to it as strongly as can be.
  expect(weights.filter((weight) => weight > 0.999).length).toBeGreaterThanOrEqual(COUNT / 2);
});

test('what is near in many dimensions is near in the picture, wherever the points begin', () => {
  const places = laidOut(11);
  expect(places.every(Number.isFinite)).toBe(true);
  const nearest = (point: number): number => {
    let [best, least] = [-1, Infinity];
    for (let other = 0; other < COUNT; other++) {
      const distance =
        (places[2 * point] - places[2 * other]) ** 2 + (places[2 * point + 1] - places[2 * other + 1]) ** 2;
      if (other !== point && distance < least) [best, least] = [other, distance];
    }
    return best;
  };
  const alike = Array.from({ length: COUNT }, (_, point) => nearest(point) % CENTRES === point % CENTRES).filter(
    Boolean,
  ).length;
  expect(alike / COUNT).toBeGreaterThan(0.98);
});

test('the same seed gives the same picture', () => {
  expect(laidOut(5)).toEqual(laidOut(5));
});

test('points that are all the same part, and stay finite', () => {
  const graph = fuzzyGraph(nearestNeighbours(new Float32Array(30 * DIM), DIM, 5));
  const places = new Float32Array(60);
  const layout = new UmapLayout(places, graph, 50, seededRandom(1));
  for (let epoch = 0; epoch < 50; epoch++) layout.step();
  expect(places.every(Number.isFinite)).toBe(true);
  expect(new Set(places).size).toBeGreaterThan(10);
});
