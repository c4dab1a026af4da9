import type { CallNotes } from '../../../shared/contract/shard/call-profile';

/**
 * Hands the notes of a request to the calls that its handler begins (ScatterGather.begin), of one thread. A use case
 * begins its calls before it waits for anything, so what is set while it is called is set for it alone. One that begins
 * them later notes nothing.
 */
export class CallNoting {
  private notes: CallNotes | undefined;

  /** Of the request whose handler is being called. */
  get current(): CallNotes | undefined {
    return this.notes;
  }

  during<Result>(notes: CallNotes, handle: () => Result): Result {
    this.notes = notes;
    try {
      return handle();
    } finally {
      this.notes = undefined;
    }
  }
}
