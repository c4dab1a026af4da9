/** The present load of the API, and how much it has refused: the gate counts, metrics read. */
export class HttpLoad {
  /** Requests being worked on. */
  requests = 0;
  /** Bytes of their bodies. */
  bodyBytes = 0;
  /** Requests refused because the process was busy, since it started. */
  refused = 0;
}
