import { QuiverError } from '../../base/errors/quiver-error';
import type { GeoShape } from './filter';
import { ringOf } from './geo-ring';

/** Corners of a polygon. */
const CORNERS_MAX = 1_000;

/** Errors of all: schema_violation, with the place. */
export function radiusOf(json: unknown, place: string): GeoShape {
  const { lat, lon, metres } = numbersOf(json, place, { lat: 90, lon: 180, metres: Infinity });
  if (metres < 0) throw refusal(`${place}.metres must not be negative`);
  return { kind: 'radius', lat, lon, metres };
}

export function boxOf(json: unknown, place: string): GeoShape {
  const numbers = numbersOf(json, place, { min_lat: 90, min_lon: 180, max_lat: 90, max_lon: 180 });
  if (numbers.min_lat > numbers.max_lat) throw refusal(`${place}.min_lat must not be above max_lat`);
  return {
    kind: 'box',
    minLat: numbers.min_lat,
    minLon: numbers.min_lon,
    maxLat: numbers.max_lat,
    maxLon: numbers.max_lon,
  };
}

export function polygonOf(json: unknown, place: string): GeoShape {
  if (!Array.isArray(json) || json.length < 3 || json.length > CORNERS_MAX)
    throw refusal(`${place} must be an array of 3 to ${CORNERS_MAX} corners {lat, lon}`);
  const corners = json.flatMap((corner, i) => {
    const { lat, lon } = numbersOf(corner, `${place}[${i}]`, { lat: 90, lon: 180 });
    return [lat, lon];
  });
  if (ringOf(corners) === null)
    throw refusal(`${place} goes around a pole: the shorter way from corner to corner must come back to the first`);
  return { kind: 'polygon', corners };
}

/** The members of an object that has these alone, each from −max to max. */
function numbersOf<Name extends string>(
  json: unknown,
  place: string,
  max: Readonly<Record<Name, number>>,
): Record<Name, number> {
  const names = Object.keys(max) as Name[];
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw refusal(`${place} must be an object {${names.join(', ')}}`);
  const object = json as Record<string, unknown>;
  const other = Object.keys(object).find((name) => !(names as string[]).includes(name));
  if (other !== undefined) throw refusal(`${place} must have ${names.join(', ')} alone`);
  const numbers = {} as Record<Name, number>;
  for (const name of names) {
    const value = Object.hasOwn(object, name) ? object[name] : undefined;
    if (typeof value !== 'number' || !Number.isFinite(value) || Math.abs(value) > max[name])
      throw refusal(
        `${place}.${name} must be a number${max[name] === Infinity ? '' : ` from ${-max[name]} to ${max[name]}`}`,
      );
    numbers[name] = value;
  }
  return numbers;
}

function refusal(message: string): QuiverError {
  return new QuiverError('schema_violation', message);
}
