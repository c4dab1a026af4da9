/** How many are remembered. Comparing a text with so many costs a fraction of what makes a result. */
const KEPT = 8;

/**
 * What was made of the last few texts: clients ask in the same words again and again. For results that depend on their
 * text alone, and that nobody changes.
 */
export class RecentResults<Result> {
  private readonly texts: string[] = [];
  private readonly results: Result[] = [];
  private next = 0;

  /** undefined: not one of the last. */
  get(text: string): Result | undefined {
    const place = this.texts.indexOf(text);
    return place < 0 ? undefined : this.results[place];
  }

  /** Takes the place of the oldest. */
  put(text: string, result: Result): void {
    this.texts[this.next] = text;
    this.results[this.next] = result;
    this.next = (this.next + 1) % KEPT;
  }
}

/** Those that belong to `owner`, of a table that has few owners. */
export function recentOf<Owner, Result>(table: Map<Owner, RecentResults<Result>>, owner: Owner): RecentResults<Result> {
  let recent = table.get(owner);
  if (recent === undefined) table.set(owner, (recent = new RecentResults()));
  return recent;
}
