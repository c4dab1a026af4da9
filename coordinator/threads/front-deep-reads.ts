import { DeepReads, isDeep } from '../routing/deep-reads';
import type { ThreadHandlers, ThreadPeer } from './thread-peer';

/**
 * Deep reads of a front thread that run on other nodes: the main thread gives the places, so that all threads of the
 * process together have as many as one of them would have alone.
 */
export class FrontDeepReads implements Pick<DeepReads, 'run'> {
  constructor(private readonly main: Pick<ThreadPeer, 'ask' | 'tell'>) {}

  run<Result>(hits: number, read: () => Promise<Result>): Promise<Result> {
    return isDeep(hits) ? this.inTurn(read) : read();
  }

  private async inTurn<Result>(read: () => Promise<Result>): Promise<Result> {
    await this.main.ask('deep.take');
    try {
      return await read();
    } finally {
      this.main.tell('deep.give');
    }
  }
}

/** The main thread's side: what one front thread may ask. A thread that ends gives its places back. */
export function deepHandlers(deep: DeepReads, peer: () => Pick<ThreadPeer, 'onClose'>): ThreadHandlers {
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
    'deep.take': () => {
      follow();
      return new Promise<void>((done) => {
        void deep.run(Infinity, () => {
          done();
          return isEnded ? Promise.resolve() : new Promise<void>((give) => taken.push(give));
        });
      });
    },
    'deep.give': () => taken.shift()?.(),
  };
}
