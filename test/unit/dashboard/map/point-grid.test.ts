import fc from 'fast-check';
import { inside, PointGrid } from '../../../../dashboard/map/point-grid';

const coordinate = fc.double({ min: -1, max: 1, noNaN: true });
const points = fc
  .array(coordinate, { minLength: 2, maxLength: 80 })
  .map((values) => Float32Array.from(values.slice(0, values.length & ~1)));

test('the nearest point is the one that a look at all of them finds', () => {
  fc.assert(
    fc.property(points, coordinate, coordinate, fc.double({ min: 0.01, max: 3, noNaN: true }), (all, x, y, reach) => {
      const distances = Array.from({ length: all.length / 2 }, (_, i) =>
        Math.hypot(all[2 * i] - x, all[2 * i + 1] - y),
      );
      const least = Math.min(...distances);
      const found = new PointGrid(all).nearest(x, y, reach);
      if (least > reach * 1.000001) expect(found).toBe(-1);
      else if (least < reach * 0.999999) expect(distances[found]).toBeCloseTo(least, 6);
    }),
  );
});

test('a line catches what is inside it, of a bent one too', () => {
  const line = [-1, -1, 1, -1, 1, 1, 0.5, 1, 0.5, -0.5, -0.5, -0.5, -0.5, 1, -1, 1];
  const places = Float32Array.of(0, 0, 0, -0.75, 0.75, 0.5, -0.75, 0.9, 2, 2);
  expect(inside(places, line)).toEqual([1, 2, 3]);
});
