import type { ApiAnswer } from '../../support/targets/api-client';
import { mayChange, type OperationKind, type Outcome } from './operation';

/** Envelope codes that are given before anything is looked at or changed. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403, 404, 409, 422]);

/**
 * How an answer counts. The envelope carries a code and a message only, and code 500 stands both for "not applied"
 * (`unavailable`) and for "not known" (`commit_unknown`), so a write that is answered 500 is unknown. So is a write of
 * several ids that is answered 429: one shard may have been too busy after another had written. A broken connection,
 * an answer that is no envelope and a call out of time (`null`) are unknown. Reads change nothing: they are ok or fail.
 */
export function outcomeOf(kind: OperationKind, idCount: number, answer: Pick<ApiAnswer, 'json'> | null): Outcome {
  const envelope = answer?.json ?? null;
  if (envelope?.status === 'success') return 'ok';
  if (!mayChange(kind)) return 'fail';
  const code = envelope?.error?.code;
  if (code === undefined) return 'unknown';
  if (code === 429) return idCount <= 1 ? 'fail' : 'unknown';
  return REFUSALS.has(code) ? 'fail' : 'unknown';
}
