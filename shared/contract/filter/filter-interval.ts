import { QuiverError } from '../../base/errors/quiver-error';
import type { JsonObject } from './filter';
import { type FilterInterval, WHOLE_SIDES } from './filter-operators';

/** Whether an object asks by operators. */
export function hasOperators(json: unknown): json is JsonObject {
  return (
    typeof json === 'object' &&
    json !== null &&
    !Array.isArray(json) &&
    Object.keys(json).some((key) => key.startsWith('$'))
  );
}

/**
 * The interval of an object such as `{"$gt": 2, "$lt": 5}` or `{"$between": [2, 4]}`, within `all`; `read` reads one
 * bound. Errors: schema_violation, with the place.
 */
export function intervalIn(
  json: JsonObject,
  place: string,
  all: FilterInterval,
  read: (bound: unknown, place: string) => number,
): FilterInterval {
  let { low, high } = all;
  const narrow = (side: Partial<FilterInterval>): void => {
    low = Math.max(low, side.low ?? low);
    high = Math.min(high, side.high ?? high);
  };
  for (const [operator, bound] of Object.entries(json)) {
    const here = `${place}.${operator}`;
    if (operator === '$between') {
      if (!Array.isArray(bound) || bound.length !== 2)
        throw new QuiverError('schema_violation', `${here} must be [lowest, highest]`);
      narrow({ low: Math.ceil(read(bound[0], `${here}[0]`)), high: Math.floor(read(bound[1], `${here}[1]`)) });
    } else if (Object.hasOwn(WHOLE_SIDES, operator)) narrow(WHOLE_SIDES[operator](read(bound, here)));
    else
      throw new QuiverError(
        'schema_violation',
        `${here.slice(0, PLACE_MAX)}: unknown operator; there are ${Object.keys(WHOLE_SIDES).join(', ')}, $between`,
      );
  }
  return { low, high };
}

/** Characters of a place that a message shows. */
const PLACE_MAX = 200;
