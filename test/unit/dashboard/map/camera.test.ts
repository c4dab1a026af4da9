import { fitting, normalised, panned, toMap, zoomed } from '../../../../dashboard/map/camera';

const frame = { width: 800, height: 400 };

test('the whole square is seen at first, and what is under the pointer stays there', () => {
  const first = fitting(frame);
  expect(toMap(first, 400, 200, frame)).toEqual([0, 0]);
  expect(toMap(first, 400, 24, frame)[1]).toBeCloseTo(1);
  const place = { x: 700, y: 50 };
  const near = zoomed(first, 3, place, frame);
  const [x, y] = toMap(first, place.x, place.y, frame);
  expect(toMap(near, place.x, place.y, frame)[0]).toBeCloseTo(x);
  expect(toMap(near, place.x, place.y, frame)[1]).toBeCloseTo(y);
  const moved = panned(near, 10, -20);
  expect(toMap(moved, place.x + 10, place.y - 20, frame)[0]).toBeCloseTo(x);
});

test('one goes neither through the map nor out of sight of it', () => {
  let camera = fitting(frame);
  for (let i = 0; i < 100; i++) camera = zoomed(camera, 10, { x: 0, y: 0 }, frame);
  expect(camera.scale / fitting(frame).scale).toBeCloseTo(400);
  for (let i = 0; i < 100; i++) camera = zoomed(camera, 0.1, { x: 0, y: 0 }, frame);
  expect(camera.scale / fitting(frame).scale).toBeCloseTo(0.4);
});

test('points come into the square without being stretched', () => {
  expect([...normalised(Float32Array.of(0, 0, 10, 0, 5, 2))]).toEqual([
    -1,
    expect.closeTo(-0.2),
    1,
    expect.closeTo(-0.2),
    0,
    expect.closeTo(0.2),
  ]);
  expect([...normalised(Float32Array.of(3, 3))]).toEqual([0, 0]);
});
