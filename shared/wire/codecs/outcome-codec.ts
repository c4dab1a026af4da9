import { QuiverError } from '../../base/errors/quiver-error';
import { EACH_VERSION, type WriteResult } from '../../contract/shard/shard-client';
import { outcomesFromBytes } from '../../contract/writes/write-outcome';

export { outcomesFromBytes, outcomesToBytes } from '../../contract/writes/write-outcome';

/** What a result says of versions, as float64s; nothing while there are none. */
export function versionsToBytes({ firstVersion, present }: WriteResult): Buffer {
  if (firstVersion === 0) return Buffer.alloc(0);
  // Not spread: there may be more than a call has arguments.
  const versions = new Float64Array(1 + present.length);
  versions[0] = firstVersion;
  versions.set(present, 1);
  return Buffer.from(versions.buffer);
}

/** Errors: internal when the bytes are malformed. */
export function resultFromBytes(outcomes: Uint8Array, versions: Uint8Array): WriteResult {
  if (versions.length % 8 !== 0) throw new QuiverError('internal', 'malformed versions');
  const [firstVersion = 0, ...present] = new Float64Array(Uint8Array.from(versions).buffer);
  const result = { outcomes: outcomesFromBytes(outcomes), firstVersion, present };
  const isEach = firstVersion === EACH_VERSION;
  if (
    present.length !==
    (isEach ? result.outcomes.length : result.outcomes.filter((outcome) => outcome === 'conflict').length)
  )
    throw new QuiverError('internal', 'malformed versions');
  return result;
}
