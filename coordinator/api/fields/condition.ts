import { z } from 'zod';
import { NO_VERSION, ANY_VERSION } from '../../../shared/contract/shard/shard-client';
import { integer, integerText, optional } from './fields';
import { type IssueSink, report } from './issue';

/** The fields by which a write says in which state an item must be for it to be done. */

const versionMeta = { description: 'The item must have this version, or the error is 409.' };

export const ifVersion = optional(integer(1, Number.MAX_SAFE_INTEGER)).meta(versionMeta);

/** The same in a query string. */
export const ifVersionText = integerText(1, Number.MAX_SAFE_INTEGER).optional().meta(versionMeta);

export const onlyIf = optional(z.enum(['absent', 'present'])).meta({
  description: 'The item must not exist, or must exist, or the error is 409.',
});

/** The version that an operation expects; undefined: any. A contradiction is reported. */
export function expectedVersion(
  given: { if_version?: number | undefined; only_if?: 'absent' | 'present' | undefined },
  sink: IssueSink,
): number | undefined {
  const { if_version: version, only_if: state } = given;
  if (version !== undefined && state === 'absent')
    report(sink, given, 'must not be "absent" beside if_version', { path: ['only_if'] });
  if (version !== undefined) return version;
  return state === undefined ? undefined : state === 'absent' ? NO_VERSION : ANY_VERSION;
}
