/** The corners in degrees, with longitudes that go on beyond ±180 where an edge crosses the date line. */
interface Ring {
  lats: number[];
  lons: number[];
}

/**
 * The corners of a polygon in one plane: each edge takes the shorter way round the Earth. null: together they go around
 * a pole, so that there is no inside.
 */
export function ringOf(corners: readonly number[]): Ring | null {
  const lats: number[] = [];
  const lons: number[] = [];
  for (let i = 0; i < corners.length; i += 2) {
    const lon = i === 0 ? corners[1] : nextLon(lons[lons.length - 1], corners[i + 1]);
    lats.push(corners[i]);
    lons.push(lon);
  }
  return Math.abs(nextLon(lons[lons.length - 1], corners[1]) - lons[0]) < 1 ? { lats, lons } : null;
}

function nextLon(before: number, lon: number): number {
  let next = lon;
  while (next - before > 180) next -= 360;
  while (next - before < -180) next += 360;
  return next;
}
