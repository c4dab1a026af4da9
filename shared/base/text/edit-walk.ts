/**
 * Edit distances from one word to many, in code units: insertions, deletions, substitutions, and swaps of neighbours
 * (optimal string alignment). Words that come in order share the work on their common beginnings.
 */
export class EditWalk {
  /** By depth: distances from each beginning of the word to a beginning of the other, of this length; capped. */
  private readonly rows: Uint8Array[] = [];
  /** The last other word, and how much of it is in the rows. */
  private previous = '';
  private depth = 0;

  /** `most`: distances above it are not told apart. */
  constructor(
    private readonly word: string,
    private readonly most: number,
  ) {
    this.rows[0] = Uint8Array.from({ length: word.length + 1 }, (_, i) => Math.min(i, most + 1));
  }

  /**
   * The distance to another word if it is at most `most`; else −n, where no word that has the same first n code units
   * is nearer.
   */
  distanceTo(other: string): number {
    const { previous, most, word } = this;
    let depth = 0;
    const shared = Math.min(this.depth, other.length);
    while (depth < shared && other.charCodeAt(depth) === previous.charCodeAt(depth)) depth++;
    this.previous = other;
    while (depth < other.length) {
      depth += 1;
      this.depth = depth;
      if (this.fill(other, depth) > most) return -depth;
    }
    this.depth = depth;
    const distance = this.rows[depth][word.length];
    // Longer words with this beginning may be nearer.
    return distance <= most ? distance : -(other.length + 1);
  }

  /** Makes the row of a depth from those before it; answers the least of it. */
  private fill(other: string, depth: number): number {
    const { word, rows, most } = this;
    const far = most + 1;
    const above = rows[depth - 1];
    const row = (rows[depth] ??= new Uint8Array(word.length + 1));
    const unit = other.charCodeAt(depth - 1);
    const first = Math.max(1, depth - most);
    const last = Math.min(word.length, depth + most);
    // What is farther than `most` from the diagonal is too far.
    row.fill(far);
    row[0] = Math.min(depth, far);
    let least = row[0];
    for (let i = first; i <= last; i++) {
      const own = word.charCodeAt(i - 1);
      let distance = Math.min(above[i - 1] + (own === unit ? 0 : 1), above[i] + 1, row[i - 1] + 1);
      if (depth > 1 && i > 1 && own === other.charCodeAt(depth - 2) && word.charCodeAt(i - 2) === unit)
        distance = Math.min(distance, rows[depth - 2][i - 2] + 1);
      if (distance > far) distance = far;
      row[i] = distance;
      if (distance < least) least = distance;
    }
    return least;
  }
}
