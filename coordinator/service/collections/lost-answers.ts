import type { TransactionResult } from '../../../shared/cluster-store/cluster-store';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';

/** Lost answers to one change after which the caller is told: each takes as long as a call to the store may. */
const LOST_MAX = 2;

/** The transactions of one change whose answers were lost: the entry, read again, shows what became of them. */
export class LostAnswers {
  private count = 0;
  private last: unknown = null;

  /**
   * null when the answer is lost. Errors: those of the transaction; commit_unknown for one lost answer too many, or
   * later.
   */
  async unlessLost(transaction: Promise<TransactionResult>): Promise<TransactionResult | null> {
    try {
      return await transaction;
    } catch (error) {
      if (!isQuiverError(error) || error.kind !== 'commit_unknown') throw this.last ?? error;
      this.last = error;
      if (++this.count === LOST_MAX) throw error;
      return null;
    }
  }

  /**
   * Errors: commit_unknown instead of those of the reading, if an answer was lost before: that is what is known then.
   */
  async orLost<Read>(reading: Promise<Read>): Promise<Read> {
    try {
      return await reading;
    } catch (error) {
      throw this.last ?? error;
    }
  }
}
