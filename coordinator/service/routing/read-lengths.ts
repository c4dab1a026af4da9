/** Of so many kinds the lengths are remembered. */
const KINDS_MAX = 10_000;

/** How many bytes items of each collection have as they are read, with and without their texts. */
export class ReadLengths {
  private readonly lengths = new Map<string, number>();

  /**
   * `fall`: by this part what is remembered falls with each read that has less. 1: it is always that of the last read;
   * below, few short ones do not hide that others are long.
   */
  constructor(private readonly fall: number) {}

  /** Bytes of one; undefined: nothing is known. */
  of({ uid }: { uid: string }, texts: boolean): number | undefined {
    return this.lengths.get(kindOf(uid, texts));
  }

  /** `count` of them had so many bytes together. */
  note({ uid }: { uid: string }, texts: boolean, count: number, bytes: number): void {
    if (count === 0) return;
    const kind = kindOf(uid, texts);
    const length = Math.max(1, bytes / count);
    const before = this.lengths.get(kind);
    if (before === undefined && this.lengths.size >= KINDS_MAX) this.lengths.clear();
    if (before !== length) this.lengths.set(kind, Math.max(length, (before ?? 0) * (1 - this.fall)));
  }
}

function kindOf(uid: string, texts: boolean): string {
  return texts ? `${uid} texts` : uid;
}
