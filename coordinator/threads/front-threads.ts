import { closeSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { QuiverError } from '../../shared/errors/quiver-error';
import type { Logger } from '../../shared/logs/logger';
import { inTime } from '../../shared/time/deadline';
import { RetryBackoff } from '../../shared/time/retry-backoff';
import { REFUSED_MAX, SWEEP_MS } from '../http/connection-gate';
import { listen } from '../http/http-server';
import { type FrontLoad, type FrontReport, FrontReportReader, type ReportReader } from './front-reports';
import { FRONT_STATE, MAIN_BEAT_MS, newFrontState, sharedMs } from './front-state';
import type { FrontThreadData } from './front-thread';
import { type ThreadHandlers, ThreadPeer } from './thread-peer';

/** How often the threads are looked at. */
const LOOK_MS = 1_000;
/**
 * A thread whose event loop did not turn for so many looks is ended. The longest piece of work on a front thread takes
 * some hundredths of a second.
 */
const LOOKS_MAX = 10;
/** Readers of metrics and usage, and a process that ends, don't wait longer for a thread that is busy. */
const FLUSH_MS = 1_000;
/** Loading its code takes a thread a second, and a busy machine far longer. */
const STARTING_LOOKS_MAX = 120;
/** A thread that lived this long did not end because of how it starts. */
const LONG_LIFE_MS = 30_000;
/** A thread that ends again at once must not keep the processor busy. */
const RESTART_PAUSES = { firstMs: 50, longestMs: 5_000 };
const NO_LOAD: FrontLoad = { requests: 0, bodyBytes: 0, refused: 0, nodeCalls: 0, nodeBytes: 0 };

export interface FrontThreadsParts {
  /** The JavaScript file of a worker that calls serveFrontThread. */
  entry: string;
  threads: number;
  data: Omit<FrontThreadData, 'state' | 'place' | 'bodyBytes'>;
  /** The environment of the threads; default: none. */
  environment?: Readonly<Record<string, string>>;
  /** What the threads may ask. `peer` is the one that asks. */
  handlers: (threads: FrontThreads, peer: () => ThreadPeer) => ThreadHandlers;
  reader: ReportReader;
  /** The load of all threads changed. */
  onLoad: (load: FrontLoad) => void;
  /** Called for each thread as it starts, to tell it what it must know; answers what ends that. */
  onStarted: (peer: ThreadPeer) => () => void;
  isShort: () => boolean;
  /** Of the native addon. */
  duplicateHandle: (handle: number) => number;
  logger: Logger;
  /** Default: {@link LOOK_MS}. */
  lookMs?: number;
}

interface Front {
  worker: Worker;
  peer: ThreadPeer;
  state: Int32Array;
  reader: FrontReportReader;
  load: FrontLoad;
  /** Handles of connections on their way to it, the oldest first, and how many it has taken before these. */
  handed: number[];
  /** Connections that it was given since it started, and those of them that are only told that there is no room. */
  dealt: number;
  dealtTurnedAway: number;
  takenBefore: number;
  lastBeat: number;
  silentLooks: number;
  isReady: boolean;
  readyMs: number;
  /** Why it ends, as far as that is known. */
  reason: unknown;
  stop: () => void;
}

/**
 * The front threads of a process: workers that serve the API, among which the main thread deals the connections. A
 * thread that ends, or whose event loop stands still, is replaced; only its own connections break.
 */
export class FrontThreads {
  private readonly fronts: (Front | null)[];
  private readonly server: Server;
  private readonly look: NodeJS.Timeout;
  private readonly beat: NodeJS.Timeout;
  private readonly bodyBytes: Float64Array;
  private readonly backoffs: RetryBackoff[];
  /** By threads that have ended. */
  private refused = 0;
  private isClosing = false;
  private sweptMs = -Infinity;

  private constructor(private readonly parts: FrontThreadsParts) {
    this.fronts = new Array<Front | null>(parts.threads).fill(null);
    this.backoffs = this.fronts.map(() => new RetryBackoff(RESTART_PAUSES));
    this.server = createServer({ pauseOnConnect: true }, (socket) => this.deal(socket));
    this.look = setInterval(() => this.watch(), parts.lookMs ?? LOOK_MS);
    this.look.unref();
    this.bodyBytes = new Float64Array(new SharedArrayBuffer(parts.threads * Float64Array.BYTES_PER_ELEMENT));
    this.beat = setInterval(() => {
      const nowMs = Math.floor(sharedMs());
      for (const front of this.fronts) if (front !== null) Atomics.store(front.state, FRONT_STATE.mainBeat, nowMs);
    }, MAIN_BEAT_MS);
    this.beat.unref();
  }

  /** Resolves when all threads are ready. Errors: internal when one ends before that. */
  static async start(parts: FrontThreadsParts): Promise<FrontThreads> {
    const threads = new FrontThreads(parts);
    try {
      await Promise.all(threads.fronts.map((_, i) => threads.startOne(i)));
    } catch (error) {
      await threads.close(0);
      throw error;
    }
    return threads;
  }

  /** How many connections each thread serves. */
  get connections(): number[] {
    return this.fronts.map((front) => (front === null ? 0 : connectionsOf(front)));
  }

  /** Opens the port and answers its number. Errors: invalid_parameter when the port or address can't be used. */
  listen(port: number, host: string): Promise<number> {
    return listen(this.server, port, host, (error) => this.parts.logger.error({ error }, 'the API port could not take a connection'));
  }

  /** Resolves when every thread has reported what it counted before this call; one that is late is not waited for. */
  async flush(): Promise<void> {
    await inTime(this.askAll('flush'), FLUSH_MS, () => new Error('late')).catch(() => undefined);
  }

  /** Resolves when every thread that serves has taken what it was told before; one that starts takes it before it serves. */
  async synced(): Promise<void> {
    await this.askAll('synced');
  }

  /** Takes no connections any more, lets running requests finish, cuts the rest after `graceMs` and ends the threads. */
  async close(graceMs: number): Promise<void> {
    this.isClosing = true;
    clearInterval(this.look);
    const closed = this.server.listening ? new Promise<void>((resolve) => this.server.close(() => resolve())) : Promise.resolve();
    await inTime(this.askAll('close', graceMs), graceMs + FLUSH_MS, () => new Error('late')).catch(() => undefined);
    // Only now: to a thread that still answers, a main thread without a beat is late, and it would refuse its requests.
    clearInterval(this.beat);
    await Promise.all(this.fronts.flatMap((front) => front?.worker.terminate() ?? []));
    await closed;
  }

  private async askAll(name: string, ...args: unknown[]): Promise<void> {
    await Promise.all(this.fronts.flatMap((front) => (front?.isReady ? front.peer.ask(name, ...args).catch(() => undefined) : [])));
  }

  private async startOne(place: number): Promise<void> {
    const { parts } = this;
    const state = newFrontState();
    Atomics.store(state, FRONT_STATE.mainBeat, Math.floor(sharedMs()));
    const workerData: FrontThreadData = { ...parts.data, state, place, bodyBytes: this.bodyBytes };
    let worker: Worker;
    try {
      // It learns from workerData what it may know; the environment holds the first key's secret.
      worker = new Worker(parts.entry, { workerData, env: { ...parts.environment } });
    } catch (error) {
      this.restart(place);
      throw error;
    }
    return new Promise((ready, fail) => {
      const front: Front = {
        worker,
        state,
        reader: new FrontReportReader(parts.reader),
        load: NO_LOAD,
        handed: [],
        dealt: 0,
        dealtTurnedAway: 0,
        takenBefore: 0,
        lastBeat: 0,
        silentLooks: 0,
        isReady: false,
        readyMs: Infinity,
        reason: undefined,
        stop: () => undefined,
        peer: new ThreadPeer(worker, {
          ...parts.handlers(this, () => front.peer),
          report: (report: FrontReport) => this.read(front, report),
          ready: () => {
            front.isReady = true;
            front.readyMs = performance.now();
            front.silentLooks = 0;
            ready();
          },
        }),
      };
      front.stop = parts.onStarted(front.peer);
      this.fronts[place] = front;
      worker.on('error', (error) => (front.reason = error));
      worker.once('exit', (code) => {
        // Without effect on a thread that was ready.
        fail(new QuiverError('internal', 'a thread that serves the API could not start', { cause: front.reason }));
        this.ended(place, front, code);
      });
    });
  }

  private ended(place: number, front: Front, code: number): void {
    front.peer.close('the thread that served the request has ended; the call may be retried');
    front.stop();
    this.forgetTaken(front);
    for (const handle of front.handed.splice(0)) closeSync(handle);
    this.refused += front.load.refused;
    this.fronts[place] = null;
    this.bodyBytes[place] = 0;
    this.sumLoads();
    if (this.isClosing) return;
    if (performance.now() - front.readyMs > LONG_LIFE_MS) this.backoffs[place].reset();
    this.parts.logger.error({ thread: place, code, error: front.reason }, 'a thread that serves the API has ended; it is replaced');
    this.restart(place);
  }

  private restart(place: number): void {
    setTimeout(() => {
      // One that fails again has its place tried again, too.
      if (!this.isClosing) this.startOne(place).catch(() => undefined);
    }, this.backoffs[place].nextMs());
  }

  /** Gives a connection to the thread that serves the fewest. */
  private deal(socket: Socket): void {
    const { front, connections, turnedAway } = this.leastBusy();
    const isTurnedAway = connections - turnedAway >= this.parts.data.connectionsMax || this.parts.isShort();
    if (isTurnedAway) this.sweep();
    const handle = (socket as unknown as { _handle: { fd: number } | null })._handle?.fd;
    if (front === null || handle === undefined || handle < 0 || (isTurnedAway && turnedAway >= REFUSED_MAX)) {
      socket.destroy();
      return;
    }
    // A handle of its own for the other thread: this thread's is closed with the socket, which does not end the connection.
    let own: number;
    try {
      own = this.parts.duplicateHandle(handle);
    } catch (error) {
      this.parts.logger.error({ error }, 'the API port could not take a connection');
      return;
    } finally {
      socket.destroy();
    }
    this.forgetTaken(front);
    front.handed.push(own);
    front.dealt += 1;
    if (isTurnedAway) front.dealtTurnedAway += 1;
    front.peer.tell('connection', own, isTurnedAway);
  }

  /** Closes idle connections to make room. */
  private sweep(): void {
    const nowMs = performance.now();
    if (nowMs - this.sweptMs < SWEEP_MS) return;
    this.sweptMs = nowMs;
    for (const front of this.fronts) front?.peer.tell('sweep');
  }

  /** The thread with the fewest connections; null while none is ready. And the connections of all. */
  private leastBusy(): { front: Front | null; connections: number; turnedAway: number } {
    let least: Front | null = null;
    let leastCount = Infinity;
    let connections = 0;
    let turnedAway = 0;
    for (const front of this.fronts) {
      if (front === null || !front.isReady) continue;
      const count = connectionsOf(front);
      connections += count;
      turnedAway += (front.dealtTurnedAway - Atomics.load(front.state, FRONT_STATE.closedTurnedAway)) | 0;
      if (count >= leastCount) continue;
      least = front;
      leastCount = count;
    }
    return { front: least, connections, turnedAway };
  }

  /** Forgets the handles that the thread has taken: they are its own now. */
  private forgetTaken(front: Front): void {
    const taken = Atomics.load(front.state, FRONT_STATE.taken);
    front.handed.splice(0, (taken - front.takenBefore) | 0);
    front.takenBefore = taken;
  }

  private read(front: Front, report: FrontReport): void {
    front.reader.read(report);
    front.load = report.load;
    this.sumLoads();
  }

  private sumLoads(): void {
    const sum = { ...NO_LOAD, refused: this.refused };
    for (const front of this.fronts) {
      for (const name of Object.keys(sum) as (keyof FrontLoad)[]) sum[name] += front?.load[name] ?? 0;
    }
    this.parts.onLoad(sum);
  }

  /** Ends threads that stand still. Looks are counted, not time: a process that was suspended is not late. */
  private watch(): void {
    for (const front of this.fronts) {
      if (front === null) continue;
      const beat = Atomics.load(front.state, FRONT_STATE.beat);
      front.silentLooks = beat === front.lastBeat ? front.silentLooks + 1 : 0;
      front.lastBeat = beat;
      // A thread that starts has no event loop yet, for as long as it loads its code.
      const looksMax = front.isReady ? LOOKS_MAX : STARTING_LOOKS_MAX;
      if (front.silentLooks < looksMax) continue;
      front.reason = new Error(`it did nothing for ${looksMax} looks at it`);
      void front.worker.terminate();
    }
  }
}

/** Counts wrap around after 2^32; their difference does not. */
function connectionsOf(front: Front): number {
  return (front.dealt - Atomics.load(front.state, FRONT_STATE.closed)) | 0;
}
