/**
 * Turns a JSON request body into a value, its vectors into float32. Implementations: the native one, which parses
 * numbers once and never makes JavaScript numbers of them, and a plain one over JSON.parse. Both pass
 * test/unit/body-parser.
 */
export interface BodyParser {
  /**
   * What JSON.parse makes of the body, with one difference: an array at `vector`, `items[*].vector` or
   * `queries[*].vector` that holds nothing but numbers is a Float32Array. Its elements are the float32 nearest to the
   * decimals (infinite when out of range); of an array longer than `vectorDimMax` the first `vectorDimMax + 1` are kept.
   * Elements may share one buffer; nobody else writes to it.
   *
   * Errors: QuiverError schema_violation when the body is not UTF-8 or not JSON.
   */
  parse(body: Buffer): unknown;
}
