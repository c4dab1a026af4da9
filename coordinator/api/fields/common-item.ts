import type { VectorInput } from '../../service/service';
import type { HttpLimits } from '../requests/http-limits';
import { firstNonFinite, idViolation } from './fields';
import { metadataText } from './metadata-text';

/**
 * What the schema of a bulk's item answers for one that has an external_id, a vector that the scanner took out of the
 * body, perhaps metadata, and nothing else, if it is valid. undefined: the schema has to judge it, and to say what is
 * wrong. Nearly all items of a load are such ones, and a schema takes several times as long.
 */
export function commonItem(limits: HttpLimits): (value: unknown) => VectorInput | undefined {
  const { vectorDimMax } = limits;
  return (value) => {
    if (typeof value !== 'object' || value === null) return undefined;
    let externalId: unknown;
    let vector: unknown;
    let given: unknown;
    // Own members only, as JSON.parse makes them.
    for (const name in value) {
      const member = (value as Record<string, unknown>)[name];
      if (name === 'external_id') externalId = member;
      else if (name === 'vector') vector = member;
      else if (name === 'metadata') given = member;
      else return undefined;
    }
    if (typeof externalId !== 'string' || idViolation(externalId) !== null) return undefined;
    if (!(vector instanceof Float32Array) || vector.length > vectorDimMax || firstNonFinite(vector) >= 0)
      return undefined;
    const metadata = given === undefined ? undefined : metadataText(given, limits, { issues: [] });
    if (given !== undefined && metadata === undefined) return undefined;
    return { externalId, source: { vector }, metadata, text: undefined };
  };
}
