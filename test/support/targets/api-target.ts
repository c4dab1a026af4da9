import type { Http2Caller } from '../http/http2-caller';

/** A running service that the API suites are pointed at: they know nothing else of it. */
export interface ApiTarget {
  /** Such as http://127.0.0.1:8000, without a slash at the end. */
  baseUrl: string;
  adminKey: string;
  stop(): Promise<void>;
  /** What calls it over HTTP/2; without one, HTTP/1.1 is spoken. */
  http2?: Http2Caller;
}

/**
 * Starts a service with these environment variables over the defaults; RATE_LIMIT_PER_MINUTE and
 * BAD_KEY_LIMIT_PER_MINUTE are 0 unless given. Each call is an empty service of its own.
 */
export type StartTarget = (environment?: Record<string, string>) => Promise<ApiTarget>;
