/**
 * A sliding-window limit per subject (a key, or a client address for requests with a bad key): at most `limit`
 * admitted requests in any 60 seconds, exact. Implementations: local (in memory); the cluster's asks the subject's owner.
 */
export interface RateLimiter {
  admit(subject: string): RateDecision | Promise<RateDecision>;
}

export interface RateDecision {
  allowed: boolean;
  /** Requests per window; 0 when there is no limit. */
  limit: number;
  remaining: number;
  /** Seconds until a place is free (when refused), else until the window is empty again; rounded up. */
  resetSeconds: number;
}
