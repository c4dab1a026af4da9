import { QuiverError } from '../../../shared/base/errors/quiver-error';

/** More in one answer are counted, and not told. */
const WARNINGS_MAX = 50;

/**
 * What the client of a request should know although it succeeds. A *doubt* is a likely mistake of the client: with
 * `strict` it is an error, that names all of them.
 */
export class RequestWarnings {
  /** What the answer holds. */
  readonly list: string[] = [];
  /** Whether doubts are errors. */
  isStrict = false;
  private readonly doubts: string[] = [];
  private more = 0;

  /** Nothing that the client did wrong. */
  warn(warning: string): void {
    if (this.list.length < WARNINGS_MAX) this.list.push(warning);
    else this.list[WARNINGS_MAX] = `and ${++this.more} more`;
  }

  /** A likely mistake; `warning`: the same where it is only told. */
  doubt(what: string, warning = what): void {
    this.doubts.push(what);
    this.warn(warning);
  }

  /** To be called before anything is done. Errors: schema_violation with every doubt, if they are errors. */
  mustBeCertain(): void {
    const { doubts } = this;
    if (!this.isStrict || doubts.length === 0) return;
    const rest = doubts.length - WARNINGS_MAX;
    throw new QuiverError(
      'schema_violation',
      `refused because of strict: ${doubts.slice(0, WARNINGS_MAX).join('; ')}${rest > 0 ? `; and ${rest} more` : ''}`,
    );
  }

  /** Whether there is a doubt. */
  get isDoubtful(): boolean {
    return this.doubts.length > 0;
  }
}
