import type { CallProfile } from '../../../shared/contract/shard/call-profile';

/**
 * Hands the notes of a request to the calls that its handler begins (ScatterGather.begin), of one thread. A use case
 * begins its calls before it waits for anything, so what is set while it is called is set for it alone. One that begins
 * them later notes nothing.
 */
export class CallProfiling {
  private profile: CallProfile | undefined;

  /** Of the request whose handler is being called. */
  get current(): CallProfile | undefined {
    return this.profile;
  }

  during<Result>(profile: CallProfile, handle: () => Result): Result {
    this.profile = profile;
    try {
      return handle();
    } finally {
      this.profile = undefined;
    }
  }
}
