import { QuiverError } from '../../base/errors/quiver-error';
import type { ListPart } from '../../contract/shard/shard-read';
import type { ListPart__Output, ListPart as ProtoListPart } from '../generated/quiver/v1/reads';
import { stringsBytes, stringsFromBytes, stringsToBytes } from './string-list-codec';

/** Its numbers with their tags. */
const NUMBER_BYTES = 48;

/** Upper bound of the bytes of a part of a list; undefined: there is none. */
export function partBytes(part: ListPart | undefined): number {
  if (part === undefined) return 0;
  return NUMBER_BYTES + (part.after === null ? 0 : stringsBytes([part.after.externalId]));
}

export function partToProto({ versionMax, after, passed }: ListPart): ProtoListPart {
  return {
    versionMax,
    passed,
    after: after === null ? null : { score: after.score, externalId: stringsToBytes([after.externalId]) },
  };
}

/** Errors: internal when the message is malformed. */
export function partFromProto({ versionMax, after, passed }: ListPart__Output): ListPart {
  if (after === null) return { versionMax, after, passed };
  const ids = stringsFromBytes(after.externalId);
  if (ids.length !== 1) throw new QuiverError('internal', 'malformed place in a list');
  return { versionMax, after: { score: after.score, externalId: ids[0] }, passed };
}
