import { QuiverError } from '../../../shared/base/errors/quiver-error';

/** What threads of a node hold of answers is shared by so many numbers, one for each. */
export function sharedAnswerBytes(threads: number): Float64Array {
  return new Float64Array(new SharedArrayBuffer(threads * Float64Array.BYTES_PER_ELEMENT));
}

/** Answers of no more bytes are sent whatever waits, and ahead of longer ones. */
export const SMALL_BYTES = 16 * 1024;

/**
 * Bounds what a node holds of answers, from when they are read until coordinators take them, over all streams and
 * threads. A stream may hold as much as is left free for all others: one whose coordinator stands still does not stop
 * the others.
 */
export class AnswerBytes {
  private readonly bytesMax: number;
  private readonly shared: Float64Array;
  private readonly place: number;

  /** `shared` and `place`: what the threads of a process share, and which of them this is. */
  constructor(options: { bytesMax: number; shared?: Float64Array; place?: number }) {
    this.bytesMax = options.bytesMax;
    this.shared = options.shared ?? sharedAnswerBytes(1);
    this.place = options.place ?? 0;
  }

  /** What all threads hold. */
  get held(): number {
    let sum = 0;
    for (const bytes of this.shared) sum += bytes;
    return sum;
  }

  add(bytes: number): void {
    this.shared[this.place] += bytes;
  }

  /** Errors: overloaded, when a stream that holds `queuedBytes` may not have so many more. */
  mustHaveRoom(queuedBytes: number, bytes: number): void {
    if (bytes <= SMALL_BYTES) return;
    const { held } = this;
    if (held > 0 && queuedBytes + bytes > this.bytesMax - held)
      throw new QuiverError(
        'overloaded',
        'coordinators take the answers of this node too slowly; try again in a moment',
      );
  }
}
