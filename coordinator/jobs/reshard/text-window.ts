import type { Clock } from '../../../shared/base/time/clock';
import { Superseded } from '../driving/owned-entry';

/** How many texts there are at once at first, and at most. */
const FIRST_TEXTS = 8;
const TEXTS_MAX = 768;
/** A call that takes less lets there be more, and one that takes longer fewer: models give calls up after a minute. */
const QUICK_MS = 5_000;
const SLOW_MS = 15_000;

/**
 * Texts that are at a model at once: as many as it makes in some seconds, so that no call waits until it is given up.
 */
export class TextWindow {
  private size = FIRST_TEXTS;
  private under = 0;
  private readonly waiting: { texts: number; begin: () => void }[] = [];

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'>) {}

  /** So many may be there at once. */
  get texts(): number {
    return this.size;
  }

  /**
   * Runs a call of so many texts when it is its turn. A call of more than there may be runs alone. Errors: those of
   * `run`; Superseded once it is to stop before its turn came.
   */
  async during<Result>(texts: number, run: () => Promise<Result>, stop: AbortSignal): Promise<Result> {
    await this.turnOf(texts, stop);
    const startMs = this.clock.monotonicMs();
    let isDone = false;
    try {
      const result = await run();
      isDone = true;
      return result;
    } finally {
      const tookMs = this.clock.monotonicMs() - startMs;
      if (tookMs > SLOW_MS) this.size = Math.max(1, Math.floor(Math.min(this.size, this.under) / 2));
      else if (isDone && tookMs < QUICK_MS) this.size = Math.min(TEXTS_MAX, this.size + texts);
      this.under -= texts;
      this.beginNext();
    }
  }

  private turnOf(texts: number, stop: AbortSignal): Promise<void> {
    return new Promise((done, fail) => {
      const leave = (): void => {
        this.waiting.splice(this.waiting.indexOf(one), 1);
        fail(new Superseded('nobody waits for these texts any more'));
        // It may have been in the way of a smaller one.
        this.beginNext();
      };
      const one = {
        texts,
        begin: () => {
          stop.removeEventListener('abort', leave);
          done();
        },
      };
      this.waiting.push(one);
      stop.addEventListener('abort', leave, { once: true });
      // Of one that is aborted already, nobody tells.
      if (stop.aborted) leave();
      else this.beginNext();
    });
  }

  private beginNext(): void {
    for (let next = this.waiting[0]; next !== undefined; next = this.waiting[0]) {
      if (this.under > 0 && this.under + next.texts > this.size) return;
      this.waiting.shift();
      this.under += next.texts;
      next.begin();
    }
  }
}
