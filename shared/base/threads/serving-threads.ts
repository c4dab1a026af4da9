import type { DuplicateHandle } from '../process/wide-accept';
import { closeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { QuiverError } from '../errors/quiver-error';
import type { Logger } from '../logs/logger';
import { inTime } from '../time/deadline';
import { RetryBackoff } from '../time/retry-backoff';
import { type ThreadHandlers, ThreadPeer } from './thread-peer';
import { newThreadState, THREAD_STATE } from './thread-state';

/** How often the threads are looked at. */
const CHECK_MS = 1_000;
/**
 * A thread whose event loop did not turn for so many looks is ended. Its longest piece of work takes some hundredths of
 * a second.
 */
const LOOKS_MAX = 10;
/** Readers of metrics and usage, and a process that ends, don't wait longer for a thread that is busy. */
const FLUSH_MS = 1_000;
/** Looks that a thread which was asked to end itself has for that: then it is ended, wherever it stands. */
const ENDING_LOOKS_MAX = 5;
/** The same for threads of a process that ends. */
const END_MS = 2_000;
/** Loading its code takes a thread a second, and a busy machine far longer. */
const STARTING_LOOKS_MAX = 120;
/** A thread that lived this long did not end because of how it starts. */
const LONG_LIFE_MS = 30_000;
/** One that ends is replaced at once. Where one ends again soon, that must not keep the processor busy. */
const RESTART_PAUSES = { firstMs: 50, longestMs: 5_000 };

export interface ServingThreadsParts<Own> {
  /** For the log and errors: `serves the API`. */
  task: string;
  /**
   * The JavaScript file of the worker. It tells `ready`, takes `connection`, `flush`, `close` and `end` (endThread),
   * and beats in `state`.
   */
  entry: string;
  threads: number;
  /** Words of `state`; default: those of THREAD_STATE. */
  words?: number;
  /** What the main thread keeps of a thread as long as it lives. */
  own: () => Own;
  /** What a thread is started with. */
  data: (state: Int32Array, place: number) => unknown;
  /** The environment of the threads; default: none. */
  environment?: Readonly<Record<string, string>>;
  /** What the threads may ask. `thread` is the one that asks. */
  handlers: (thread: () => ServingThread<Own>) => ThreadHandlers;
  /** Called for each thread as it starts, to tell it what it must know; answers what ends that. */
  onStarted: (peer: ThreadPeer) => () => void;
  /** Called for each that begins to serve. */
  onReady?: () => void;
  /** Called for each that has ended, before it is replaced. */
  onEnded?: (thread: ServingThread<Own>, place: number) => void;
  /** Of a native addon. */
  duplicateHandle: DuplicateHandle;
  logger: Logger;
  /** Default: {@link LOOK_MS}. */
  lookMs?: number;
}

/** What others see of a thread. */
export interface ServingThread<Own> {
  readonly peer: ThreadPeer;
  readonly state: Int32Array;
  /** It serves; before that it loads its code. */
  readonly isReady: boolean;
  readonly own: Own;
}

interface Thread<Own> extends ServingThread<Own> {
  worker: Worker;
  /** Handles of connections on their way to it, the oldest first, and how many it has taken before these. */
  handed: number[];
  takenBefore: number;
  isReady: boolean;
  /** Connections that it was given since it started. */
  dealt: number;
  lastBeat: number;
  silentLooks: number;
  /** Looks since it was asked to end itself; -1: it was not. */
  endingLooks: number;
  readyMs: number;
  /** Why it ends, as far as that is known. */
  reason: unknown;
  stop: () => void;
}

/**
 * Workers among which the main thread deals connections. A thread that ends, or whose event loop stands still, is
 * replaced; only its own connections break.
 */
export class ServingThreads<Own> {
  private readonly threads: (Thread<Own> | null)[];
  private readonly backoffs: RetryBackoff[];
  /** When a thread last failed, by its place. */
  private readonly failedMs: number[];
  /** Threads that ended though nobody asked them to. */
  failures = 0;
  private readonly look: NodeJS.Timeout;
  private isClosing = false;

  /** Nothing runs until {@link begin}. */
  constructor(private readonly parts: ServingThreadsParts<Own>) {
    this.threads = new Array<Thread<Own> | null>(parts.threads).fill(null);
    this.backoffs = this.threads.map(() => new RetryBackoff(RESTART_PAUSES));
    this.failedMs = this.threads.map(() => -Infinity);
    this.look = setInterval(() => this.watch(), parts.lookMs ?? CHECK_MS);
    this.look.unref();
  }

  /**
   * Starts the threads. Resolves when all are ready. Errors: internal when one ends before that; all have ended then.
   */
  async begin(): Promise<void> {
    try {
      await Promise.all(this.threads.map((_, i) => this.startOne(i)));
    } catch (error) {
      await this.close(0);
      throw error;
    }
  }

  /** The threads that are there, whether ready or not. */
  get running(): ServingThread<Own>[] {
    return this.threads.filter((thread) => thread !== null);
  }

  /** Whether any of them takes connections. */
  get isServing(): boolean {
    return this.threads.some((thread) => thread?.isReady === true);
  }

  /** How many connections each thread serves. */
  get connections(): number[] {
    return this.threads.map((thread) => (thread === null ? 0 : connectionsOf(thread)));
  }

  /** The threads by their workers' numbers; 0: one is being replaced. */
  get ids(): number[] {
    return this.threads.map((thread) => thread?.worker.threadId ?? 0);
  }

  /**
   * Gives a connection to the thread that serves the fewest, from whose first byte on nothing was read, with `words`
   * about it. Answers the thread; null where none is ready, or none could be given it: then it has ended.
   */
  deal(socket: Socket, ...words: unknown[]): ServingThread<Own> | null {
    const thread = this.leastBusy();
    const handle = (socket as unknown as { _handle: { fd: number } | null })._handle?.fd;
    // A handle of its own for the other thread: this thread's is closed with the socket, which does not end the
    // connection.
    let own: number;
    try {
      if (thread === null || handle === undefined || handle < 0) return null;
      own = this.parts.duplicateHandle(handle);
    } catch (error) {
      this.parts.logger.error({ error }, `a connection could not be given to a thread that ${this.parts.task}`);
      return null;
    } finally {
      socket.destroy();
    }
    forgetTaken(thread);
    thread.handed.push(own);
    thread.dealt += 1;
    thread.peer.tell('connection', own, ...words);
    return thread;
  }

  /** Resolves when every thread has reported what it counted before this call; one that is late is not waited for. */
  async flush(): Promise<void> {
    await inTime(this.askAll('flush'), FLUSH_MS, () => new Error('late')).catch(() => undefined);
  }

  /** Lets running calls finish, cuts the rest after `graceMs`, and has the threads end themselves. */
  async close(graceMs: number): Promise<void> {
    this.isClosing = true;
    clearInterval(this.look);
    await inTime(this.askAll('close', graceMs), graceMs + FLUSH_MS, () => new Error('late')).catch(() => undefined);
    await Promise.all(this.threads.flatMap((thread) => (thread === null ? [] : endOf(thread))));
  }

  /** Asks every thread that serves; one that ends meanwhile is left out. */
  async askAll(name: string, ...args: unknown[]): Promise<void> {
    await Promise.all(
      this.threads.flatMap((thread) =>
        thread?.isReady ? [thread.peer.ask(name, ...args).catch(() => undefined)] : [],
      ),
    );
  }

  private startOne(place: number): Promise<void> {
    const { parts } = this;
    const state = newThreadState(parts.words);
    let worker: Worker;
    try {
      // It learns from workerData what it may know; the environment holds secrets.
      worker = new Worker(parts.entry, { workerData: parts.data(state, place), env: { ...parts.environment } });
    } catch (error) {
      this.restart(place);
      return Promise.reject(error as Error);
    }
    return new Promise((ready, fail) => {
      const thread: Thread<Own> = {
        worker,
        state,
        own: parts.own(),
        handed: [],
        takenBefore: 0,
        dealt: 0,
        lastBeat: 0,
        silentLooks: 0,
        endingLooks: -1,
        isReady: false,
        readyMs: Infinity,
        reason: undefined,
        stop: () => undefined,
        peer: new ThreadPeer(worker, {
          ...parts.handlers(() => thread),
          ready: () => {
            thread.isReady = true;
            thread.readyMs = performance.now();
            thread.silentLooks = 0;
            ready();
            parts.onReady?.();
          },
        }),
      };
      thread.stop = parts.onStarted(thread.peer);
      this.threads[place] = thread;
      worker.on('error', (error) => (thread.reason = error));
      worker.once('exit', (code) => {
        // Without effect on a thread that was ready.
        fail(new QuiverError('internal', `a thread that ${parts.task} could not start`, { cause: thread.reason }));
        this.ended(place, thread, code);
      });
    });
  }

  private ended(place: number, thread: Thread<Own>, code: number): void {
    thread.peer.close('the thread that served the call has ended; it may be retried');
    thread.stop();
    forgetTaken(thread);
    for (const handle of thread.handed.splice(0)) closeSync(handle);
    this.threads[place] = null;
    this.parts.onEnded?.(thread, place);
    if (this.isClosing) return;
    const nowMs = performance.now();
    if (nowMs - thread.readyMs > LONG_LIFE_MS) this.backoffs[place].reset();
    this.parts.logger.error(
      { thread: place, code, error: thread.reason },
      `a thread that ${this.parts.task} has ended; it is replaced`,
    );
    const isFirst = thread.isReady && nowMs - this.failedMs[place] > LONG_LIFE_MS;
    this.failures += 1;
    this.failedMs[place] = nowMs;
    if (isFirst) this.startAgain(place);
    else this.restart(place);
  }

  private restart(place: number): void {
    setTimeout(() => this.startAgain(place), this.backoffs[place].nextMs());
  }

  private startAgain(place: number): void {
    // One that fails again has its place tried again, too.
    if (!this.isClosing) this.startOne(place).catch(() => undefined);
  }

  /** The thread with the fewest connections; null while none is ready. */
  private leastBusy(): Thread<Own> | null {
    let least: Thread<Own> | null = null;
    for (const thread of this.threads) {
      if (
        thread !== null &&
        thread.isReady &&
        thread.endingLooks < 0 &&
        (least === null || connectionsOf(thread) < connectionsOf(least))
      )
        least = thread;
    }
    return least;
  }

  /**
   * Ends threads that stand still: one that turns again after it was asked to does it by itself. Looks are counted, not
   * time: a process that was suspended is not late.
   */
  private watch(): void {
    for (const thread of this.threads) {
      if (thread === null) continue;
      if (thread.endingLooks >= 0) {
        thread.endingLooks += 1;
        if (thread.endingLooks === ENDING_LOOKS_MAX) void thread.worker.terminate();
        continue;
      }
      const beat = Atomics.load(thread.state, THREAD_STATE.beat);
      thread.silentLooks = beat === thread.lastBeat ? thread.silentLooks + 1 : 0;
      thread.lastBeat = beat;
      // A thread that starts has no event loop yet, for as long as it loads its code.
      const looksMax = thread.isReady ? LOOKS_MAX : STARTING_LOOKS_MAX;
      if (thread.silentLooks < looksMax) continue;
      thread.reason = new Error(`it did nothing for ${looksMax} looks at it`);
      // No connection is read yet by one that starts, so nothing can go wrong there.
      if (!thread.isReady) void thread.worker.terminate();
      thread.endingLooks = 0;
      thread.peer.tell('end');
    }
  }
}

/** Resolves when it has ended: by itself, or where it does not, by force. */
async function endOf({ worker, peer, isReady }: Thread<unknown>): Promise<void> {
  const ended = new Promise<void>((done) => worker.once('exit', () => done()));
  if (isReady) peer.tell('end');
  else void worker.terminate();
  await inTime(ended, END_MS, () => new Error('late')).catch(() => worker.terminate());
}

/** Forgets the handles that the thread has taken: they are its own now. */
function forgetTaken(thread: Thread<unknown>): void {
  const taken = Atomics.load(thread.state, THREAD_STATE.taken);
  thread.handed.splice(0, (taken - thread.takenBefore) | 0);
  thread.takenBefore = taken;
}

/** Counts wrap around after 2^32; their difference does not. */
function connectionsOf(thread: Thread<unknown>): number {
  return (thread.dealt - Atomics.load(thread.state, THREAD_STATE.closed)) | 0;
}
