import type { CallOptions } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import { DeepReads, isDeep } from '../../service/routing/deep-reads';
import { ownDeadline, sharedDeadline } from '../../../shared/base/time/shared-clock';
import type { ThreadHandlers, ThreadPeer } from '../../../shared/base/threads/thread-peer';

/**
 * Deep reads of an HTTP thread that run on other nodes: the main thread gives the places, so that all threads of the
 * process together have as many as one of them would have alone, and takes those out of the line whose time is over.
 */
export class HttpThreadDeepReads implements Pick<DeepReads, 'run'> {
  private readonly main: Pick<ThreadPeer, 'ask' | 'tell'>;
  private readonly clock: Clock;

  constructor(parts: { main: Pick<ThreadPeer, 'ask' | 'tell'>; clock: Clock }) {
    this.main = parts.main;
    this.clock = parts.clock;
  }

  run<Result>(hits: number, call: CallOptions, read: () => Promise<Result>): Promise<Result> {
    return isDeep(hits) ? this.inTurn(call, read) : read();
  }

  private async inTurn<Result>({ deadlineMs }: CallOptions, read: () => Promise<Result>): Promise<Result> {
    await this.main.ask('deep.take', sharedDeadline(deadlineMs, this.clock));
    try {
      return await read();
    } finally {
      this.main.tell('deep.give');
    }
  }
}

/** The main thread's side: what one HTTP thread may ask. A thread that ends gives its places back. */
export function deepHandlers(deep: DeepReads, clock: Clock, peer: () => Pick<ThreadPeer, 'onClose'>): ThreadHandlers {
  const taken: (() => void)[] = [];
  let isEnded = false;
  let isFollowed = false;
  const follow = (): void => {
    if (isFollowed) return;
    isFollowed = true;
    peer().onClose(() => {
      isEnded = true;
      for (const give of taken.splice(0)) give();
    });
  };
  return {
    'deep.take': (deadline: number) => {
      follow();
      return new Promise<void>((done, fail) => {
        const hold = (): Promise<void> => {
          done();
          return isEnded ? Promise.resolve() : new Promise<void>((give) => taken.push(give));
        };
        deep.run(Infinity, { deadlineMs: ownDeadline(deadline, clock) }, hold).catch(fail);
      });
    },
    'deep.give': () => taken.shift()?.(),
  };
}
