/** The exact neighbours of some queries (cosine), found while rows pass by: the rows themselves need no memory. */
export class NearestStream {
  /** @param {Float32Array[]} queries @param {number} k */
  constructor(queries, k) {
    this.k = k;
    this.queries = queries;
    // Products of floats that are not converted first take half the time.
    this.wide = queries.map((query) => Float64Array.from(query));
    this.head = Math.floor((queries[0]?.length ?? 0) / 4);
    this.tails = this.wide.map((query) => Math.sqrt(squareOf(query, this.head)));
    this.row = new Float64Array(queries[0]?.length ?? 0);
    this.best = queries.map(() => ({ rows: new Int32Array(k).fill(-1), scores: new Float64Array(k).fill(-Infinity) }));
  }

  look(row, vector) {
    const { k, head, wide, tails, best, row: wideRow } = this;
    wideRow.set(vector);
    const tail = squareOf(wideRow, head);
    const inverse = 1 / Math.sqrt(tail + squareOf(wideRow, 0, head));
    const tailNorm = Math.sqrt(tail) * (1 + 1e-9);
    for (let q = 0; q < wide.length; q++) {
      const { rows, scores } = best[q];
      const begun = product(wideRow, wide[q], 0, head);
      // The rest of the product is at most that of the norms of both rests: of most rows nothing else is needed.
      if ((begun + tailNorm * tails[q]) * inverse <= scores[k - 1]) continue;
      const score = (begun + product(wideRow, wide[q], head, wideRow.length)) * inverse;
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

function squareOf(vector, from, end = vector.length) {
  return product(vector, vector, from, end);
}

function product(left, right, from, end) {
  // Four sums: one would wait for each product.
  let [a, b, c, d, i] = [0, 0, 0, 0, from];
  for (; i + 3 < end; i += 4) {
    a += left[i] * right[i];
    b += left[i + 1] * right[i + 1];
    c += left[i + 2] * right[i + 2];
    d += left[i + 3] * right[i + 3];
  }
  for (; i < end; i++) a += left[i] * right[i];
  return a + b + c + d;
}
