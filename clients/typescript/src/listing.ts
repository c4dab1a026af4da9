/** An answer that lists something: it is gone through, and has a length, as that list. */
export interface Listing<Row> extends Iterable<Row> {
  readonly length: number;
}

/** The answer with that, which its JSON, its copies and its comparisons do not show. */
export function listing<Answer extends object, Row>(answer: Answer, rows: readonly Row[]): Answer & Listing<Row> {
  return Object.defineProperties(answer, {
    [Symbol.iterator]: { value: () => rows[Symbol.iterator](), configurable: true },
    length: { get: () => rows.length, configurable: true },
  }) as Answer & Listing<Row>;
}
