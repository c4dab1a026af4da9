/** What the API has taken on at the moment and what it has turned away: the gate counts, metrics look. */
export class HttpLoad {
  /** Requests being worked on. */
  requests = 0;
  /** Bytes of their bodies. */
  bodyBytes = 0;
  /** Requests refused because the process was busy, since it started. */
  refused = 0;
}
