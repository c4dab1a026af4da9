/** Points of the square from −1 to 1 in cells, so that what is near a place is found without looking at all of them. */
export class PointGrid {
  private readonly side: number;
  /** Points of cell c: `order` from `starts[c]` to `starts[c + 1]`. */
  private readonly starts: Uint32Array;
  private readonly order: Uint32Array;

  constructor(private readonly points: Float32Array) {
    const count = points.length / 2;
    this.side = Math.max(1, Math.min(512, Math.ceil(Math.sqrt(count))));
    this.starts = new Uint32Array(this.side * this.side + 1);
    const cells = new Uint32Array(count);
    for (let i = 0; i < count; i++) {
      const cell = this.row(points[2 * i + 1] as number) * this.side + this.row(points[2 * i] as number);
      cells[i] = cell;
      this.starts[cell + 1] = (this.starts[cell + 1] as number) + 1;
    }
    for (let cell = 0; cell < this.side * this.side; cell++)
      this.starts[cell + 1] = (this.starts[cell + 1] as number) + (this.starts[cell] as number);
    const next = this.starts.slice(0, -1);
    this.order = new Uint32Array(count);
    for (let i = 0; i < count; i++) {
      const cell = cells[i] as number;
      this.order[next[cell] as number] = i;
      next[cell] = (next[cell] as number) + 1;
    }
  }

  /** The point nearest to a place, at most `reach` away; −1 without one. */
  nearest(x: number, y: number, reach: number): number {
    let best = -1;
    let least = reach * reach;
    const [left, right, bottom, top] = [
      this.row(x - reach),
      this.row(x + reach),
      this.row(y - reach),
      this.row(y + reach),
    ];
    for (let row = bottom; row <= top; row++) {
      const [from, to] = [
        this.starts[row * this.side + left] as number,
        this.starts[row * this.side + right + 1] as number,
      ];
      for (let at = from; at < to; at++) {
        const point = this.order[at] as number;
        const [dx, dy] = [(this.points[2 * point] as number) - x, (this.points[2 * point + 1] as number) - y];
        const distance = dx * dx + dy * dy;
        if (distance <= least) [least, best] = [distance, point];
      }
    }
    return best;
  }

  private row(value: number): number {
    return Math.min(this.side - 1, Math.max(0, Math.floor(((value + 1) / 2) * this.side)));
  }
}

/** Points inside a closed line, given as x, y, x, y… (even–odd rule). */
export function inside(points: Float32Array, line: number[]): number[] {
  const xs = line.filter((_, i) => i % 2 === 0);
  const ys = line.filter((_, i) => i % 2 === 1);
  const [left, right, bottom, top] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const found: number[] = [];
  for (let i = 0; i < points.length / 2; i++) {
    const [x, y] = [points[2 * i] as number, points[2 * i + 1] as number];
    if (x < left || x > right || y < bottom || y > top) continue;
    let isInside = false;
    for (let a = 0, b = xs.length - 1; a < xs.length; b = a++) {
      const [ax, ay, bx, by] = [xs[a] as number, ys[a] as number, xs[b] as number, ys[b] as number];
      if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) isInside = !isInside;
    }
    if (isInside) found.push(i);
  }
  return found;
}
