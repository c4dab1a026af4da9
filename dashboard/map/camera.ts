/** Where the map is looked at from: the point in the middle of the picture, and pixels for a unit of the map. */
export interface Camera {
  x: number;
  y: number;
  scale: number;
}

/** Of the picture, in CSS pixels. */
export interface Frame {
  width: number;
  height: number;
}

/** Around the points, in CSS pixels. */
const MARGIN = 24;
/** From a view of everything, how near and how far one may go. */
const NEAREST = 400;
const FARTHEST = 0.4;

/** The camera that sees all points, which lie in the square from −1 to 1. */
export function fitting(frame: Frame): Camera {
  return { x: 0, y: 0, scale: Math.max(1, (Math.min(frame.width, frame.height) - 2 * MARGIN) / 2) };
}

export function panned(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, x: camera.x - dx / camera.scale, y: camera.y + dy / camera.scale };
}

/** Nearer by `factor`, with what is under a place of the picture staying there. */
export function zoomed(camera: Camera, factor: number, place: { x: number; y: number }, frame: Frame): Camera {
  const whole = fitting(frame).scale;
  const scale = Math.min(whole * NEAREST, Math.max(whole * FARTHEST, camera.scale * factor));
  const [x, y] = toMap(camera, place.x, place.y, frame);
  return { x: x - (place.x - frame.width / 2) / scale, y: y + (place.y - frame.height / 2) / scale, scale };
}

export function toMap(camera: Camera, x: number, y: number, frame: Frame): [number, number] {
  return [camera.x + (x - frame.width / 2) / camera.scale, camera.y - (y - frame.height / 2) / camera.scale];
}

/** Points moved and scaled, both axes alike, into the square from −1 to 1. */
export function normalised(points: Float32Array): Float32Array {
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < points.length; i += 2) {
    const [x, y] = [points[i] as number, points[i + 1] as number];
    if (x < left) left = x;
    if (x > right) right = x;
    if (y < bottom) bottom = y;
    if (y > top) top = y;
  }
  const half = Math.max(right - left, top - bottom) / 2 || 1;
  const [middleX, middleY] = [(left + right) / 2, (bottom + top) / 2];
  return points.map((value, i) => (value - (i % 2 === 0 ? middleX : middleY)) / half);
}
