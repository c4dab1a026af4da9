/** A row that is not stored, and why. */
export interface RejectedRow {
  /** "line 17", "row 3": where in the source. */
  place: string;
  externalId: string | null;
  reason: string;
}

/**
 * A run of rows that were read together, on their way to the service. When all of them and all rows before them are
 * settled, the import can go on from `mark` after a crash.
 */
export interface Passage<Mark> {
  /** Where reading goes on after it. */
  mark: Mark;
  /** Rows that were read, good and bad. */
  rows: number;
  /** Rows of it that are neither stored nor rejected yet. */
  pending: number;
  rejected: RejectedRow[];
  /** Nothing is added any more. */
  isWhole: boolean;
}

/** Reported passages are forgotten so many at a time, because that moves those that are left. */
const FORGOTTEN_AT_ONCE = 1000;

/** What is settled when a passage and all before it are. */
export type OnSettled<Mark> = (passage: Passage<Mark>) => void;

/**
 * The order of what is under way: passages are begun in the order of the source, settled in any, and reported in the
 * order of the source again.
 */
export class Watermark<Mark> {
  private readonly open: Passage<Mark>[] = [];
  private reported = 0;

  constructor(private readonly onSettled: OnSettled<Mark>) {}

  begin(mark: Mark, rows: number, rejected: RejectedRow[] = []): Passage<Mark> {
    const passage: Passage<Mark> = { mark, rows, pending: 0, rejected, isWhole: false };
    this.open.push(passage);
    return passage;
  }

  /** After the last row of a passage was added. */
  close(passage: Passage<Mark>): void {
    passage.isWhole = true;
    this.advance();
  }

  /** `rows` of the passage are stored, or rejected for the reasons given. */
  settle(passage: Passage<Mark>, rows: number, rejected: RejectedRow[] = []): void {
    passage.pending -= rows;
    if (rejected.length > 0) passage.rejected.push(...rejected);
    if (passage.pending === 0) this.advance();
  }

  /** Nothing is under way. */
  get isSettled(): boolean {
    return this.reported === this.open.length;
  }

  /** Rows that are rejected so far of what is not reported yet. */
  get rejected(): RejectedRow[] {
    return this.open.slice(this.reported).flatMap(({ rejected }) => rejected);
  }

  private advance(): void {
    while (
      this.reported < this.open.length &&
      this.open[this.reported].isWhole &&
      this.open[this.reported].pending === 0
    ) {
      this.onSettled(this.open[this.reported]);
      this.reported += 1;
    }
    if (this.reported < FORGOTTEN_AT_ONCE && this.reported < this.open.length) return;
    this.open.splice(0, this.reported);
    this.reported = 0;
  }
}
