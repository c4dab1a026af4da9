/**
 * A sliding-window limit per subject (a key, or a client address for requests with a bad key): at most `limit` admitted
 * requests in any 60 seconds. A subject may have a limit of its own (limits/subject.ts). Implementations: of a process,
 * and shared (in a cluster: asks the subject's owner).
 */
export interface RateLimiter {
  admit(subject: string): RateDecision | Promise<RateDecision>;
}

export interface RateDecision {
  allowed: boolean;
  /** Requests per window; 0 if there is no limit. */
  limit: number;
  remaining: number;
  /** If refused: seconds until a place is free; otherwise seconds until the window is empty; rounded up. */
  resetSeconds: number;
}

/** What a subject without a limit is told. */
export const UNLIMITED: RateDecision = { allowed: true, limit: 0, remaining: 0, resetSeconds: 0 };
