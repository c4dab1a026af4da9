/** The exact neighbours of some queries (cosine), found while rows pass by: the rows themselves need no memory. */
export class NearestStream {
  /** @param {Float32Array[]} queries @param {number} k */
  constructor(queries, k) {
    this.k = k;
    this.queries = queries;
    this.best = queries.map(() => ({ rows: new Int32Array(k).fill(-1), scores: new Float64Array(k).fill(-Infinity) }));
  }

  look(row, vector) {
    const { k } = this;
    const dim = vector.length;
    let square = 0;
    for (let i = 0; i < dim; i++) square += vector[i] * vector[i];
    const inverse = 1 / Math.sqrt(square);
    for (let q = 0; q < this.queries.length; q++) {
      const query = this.queries[q];
      // Four sums: one would wait for each product.
      let [a, b, c, d, i] = [0, 0, 0, 0, 0];
      for (; i + 3 < dim; i += 4) {
        a += vector[i] * query[i];
        b += vector[i + 1] * query[i + 1];
        c += vector[i + 2] * query[i + 2];
        d += vector[i + 3] * query[i + 3];
      }
      for (; i < dim; i++) a += vector[i] * query[i];
      const score = (a + b + c + d) * inverse;
      const { rows, scores } = this.best[q];
      if (score <= scores[k - 1]) continue;
      let place = k - 1;
      for (; place > 0 && score > scores[place - 1]; place--) {
        scores[place] = scores[place - 1];
        rows[place] = rows[place - 1];
      }
      scores[place] = score;
      rows[place] = row;
    }
  }

  /** Of the neighbours of a query, how many are among these rows. */
  found(query, rows) {
    const answer = new Set(rows);
    return this.best[query].rows.reduce((sum, row) => sum + (answer.has(row) ? 1 : 0), 0);
  }
}
