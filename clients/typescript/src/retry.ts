import { ApiError, BadAnswerError, ConnectionError, QuiverError, TimeoutError } from './errors';

/** When a request is sent again, and how long that is put off. */
export interface RetryPolicy {
  /** Times that a request is sent again after the first. */
  retries: number;
  /** Before the first repetition, half of it to all of it by chance; doubled for each further one. */
  delayMs: number;
  /** What the doubling ends at. */
  delayMaxMs: number;
  /** A service that asks for a longer pause than this is not asked again. */
  retryAfterMaxMs: number;
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  retries: 5,
  delayMs: 200,
  delayMaxMs: 10_000,
  // The window of the service's rate limit.
  retryAfterMaxMs: 60_000,
};

/** Answers of proxies that stand for a service that is away for the moment. */
const PASSING_STATUSES = [429, 502, 503, 504];
/** Of these, the one with which a proxy says that it passed nothing on. */
const NOT_DONE_STATUSES = [429];

/**
 * How long to wait before the request is sent again; null when it is not to be.
 *
 * `isRepeatable`: whether carrying the request out twice is the same as once. Others are only sent again when the
 * service has certainly not begun with them. `chance` is from 0 to 1.
 */
export function retryDelayMs(
  error: unknown,
  given: { policy: RetryPolicy; attempt: number; isRepeatable: boolean; chance: number },
): number | null {
  const { policy, attempt, isRepeatable, chance } = given;
  if (
    attempt >= policy.retries ||
    !(error instanceof QuiverError) ||
    !(isUntouched(error) || (isRepeatable && isPassing(error)))
  )
    return null;
  const backoffMs = Math.min(policy.delayMaxMs, policy.delayMs * 2 ** attempt) * (0.5 + chance / 2);
  const askedMs = error instanceof ApiError || error instanceof BadAnswerError ? (error.retryAfterMs ?? 0) : 0;
  if (askedMs > policy.retryAfterMaxMs) return null;
  // Those who were refused together do not come back together.
  return askedMs === 0 ? backoffMs : askedMs + chance * policy.delayMs;
}

/** The service has not begun with the request. */
function isUntouched(error: QuiverError): boolean {
  if (error instanceof ApiError) return error.code === 429;
  return error instanceof ConnectionError && !error.mayHaveArrived;
}

/** Whether a request that failed so may have been carried out all the same. */
export function mayHaveBeenDone(error: unknown): boolean {
  return (
    error instanceof QuiverError &&
    isPassing(error) &&
    !isUntouched(error) &&
    !(error instanceof BadAnswerError && NOT_DONE_STATUSES.includes(error.httpStatus))
  );
}

/** The same request may succeed later. */
function isPassing(error: QuiverError): boolean {
  if (error instanceof ApiError) return error.code === 500;
  if (error instanceof BadAnswerError) return PASSING_STATUSES.includes(error.httpStatus);
  return error instanceof ConnectionError || error instanceof TimeoutError;
}
