import { createServer, type Server, type Socket } from 'node:net';
import type { Logger } from '../../../shared/base/logs/logger';
import { ListenerGuard } from '../../../shared/base/process/listener-guard';
import type { DuplicateHandle } from '../../../shared/base/process/wide-accept';
import { ServingThreads } from '../../../shared/base/threads/serving-threads';
import type { ThreadHandlers, ThreadPeer } from '../../../shared/base/threads/thread-peer';
import { sharedMs } from '../../../shared/base/time/shared-clock';
import { forgetAnswerPart, answerParts } from '../load/answer-memory';
import { REFUSED_MAX, SWEEP_MS } from '../connections/connection-admission';
import { sharedHeapGrowth } from '../load/heap-growth';
import { listen } from '../http/http-server';
import {
  type HttpThreadLoad,
  type HttpThreadReport,
  HttpThreadReportReader,
  type ReportReader,
} from './http-thread-reports';
import { HTTP_THREAD_STATE, HTTP_THREAD_WORDS, MAIN_BEAT_MS } from './http-thread-state';
import type { HttpThreadData } from './http-thread';
import { HeldConnections } from './held-connections';

const NO_LOAD: HttpThreadLoad = { requests: 0, bodyBytes: 0, answerBytes: 0, refused: 0, nodeCalls: 0, nodeBytes: 0 };

export interface HttpThreadsParts {
  /** The JavaScript file of a worker that calls serveHttpThread. */
  entry: string;
  threads: number;
  data: Omit<HttpThreadData, 'state' | 'place' | 'bodyBytes' | 'answerBytes' | 'heapGrowth'>;
  /** The environment of the threads; default: none. */
  environment?: Readonly<Record<string, string>>;
  /** What the threads may ask. `peer` is the one that asks. */
  handlers: (threads: HttpThreads, peer: () => ThreadPeer) => ThreadHandlers;
  reader: ReportReader;
  /** The load of all threads changed. */
  onLoad: (load: HttpThreadLoad) => void;
  /** Called for each thread as it starts, to tell it what it must know; answers what ends that. */
  onStarted: (peer: ThreadPeer) => () => void;
  isShort: () => boolean;
  /** Of the native addon. */
  duplicateHandle: DuplicateHandle;
  logger: Logger;
  /** How often the threads are looked at; default: once a second. */
  lookMs?: number;
  /** How long a connection waits for a thread to serve it; default: ten seconds. */
  heldMs?: number;
}

/** What is kept of an HTTP thread. */
interface HttpThread {
  reader: HttpThreadReportReader;
  load: HttpThreadLoad;
  /** Connections that it was given since it started and that are only told that there is no room. */
  dealtTurnedAway: number;
}

/**
 * The HTTP threads of a process: workers that serve the API, among which the main thread deals the connections. A
 * thread that ends, or whose event loop stands still, is replaced; only its own connections break.
 */
export class HttpThreads {
  private readonly threads: ServingThreads<HttpThread>;
  private readonly server: Server;
  private readonly beat: NodeJS.Timeout;
  private readonly held: HeldConnections;
  /** By threads that have ended. */
  private refused = 0;
  private sweptMs = -Infinity;

  private constructor(private readonly parts: HttpThreadsParts) {
    this.held = new HeldConnections(parts.heldMs);
    const guard = new ListenerGuard((error, untold) =>
      parts.logger.error({ error, untold }, 'a fault of this program closed a connection'),
    );
    this.server = createServer(
      { pauseOnConnect: true },
      guard.around(
        (socket) => this.deal(socket),
        (socket) => socket.destroy(),
      ),
    );
    const bodyBytes = new Float64Array(new SharedArrayBuffer(parts.threads * Float64Array.BYTES_PER_ELEMENT));
    const answerBytes = answerParts(parts.threads);
    const heapGrowth = sharedHeapGrowth();
    this.threads = new ServingThreads<HttpThread>({
      task: 'serves the API',
      entry: parts.entry,
      threads: parts.threads,
      words: HTTP_THREAD_WORDS,
      own: () => ({ reader: new HttpThreadReportReader(parts.reader), load: NO_LOAD, dealtTurnedAway: 0 }),
      data: (state, place): HttpThreadData => {
        showBeat(state);
        return { ...parts.data, state, place, bodyBytes, answerBytes, heapGrowth };
      },
      environment: parts.environment,
      handlers: (thread) => ({
        ...parts.handlers(this, () => thread().peer),
        report: (report: HttpThreadReport) => this.read(thread().own, report),
      }),
      onStarted: parts.onStarted,
      onReady: () => {
        for (const socket of this.held.take()) this.deal(socket);
      },
      onEnded: ({ own }, place) => {
        this.refused += own.load.refused;
        bodyBytes[place] = 0;
        forgetAnswerPart(answerBytes, place);
        this.sumLoads();
      },
      duplicateHandle: parts.duplicateHandle,
      logger: parts.logger,
      lookMs: parts.lookMs,
    });
    this.beat = setInterval(() => {
      for (const { state } of this.threads.running) showBeat(state);
    }, MAIN_BEAT_MS);
    this.beat.unref();
  }

  /** Resolves when all threads are ready. Errors: internal when one ends before that. */
  static async start(parts: HttpThreadsParts): Promise<HttpThreads> {
    const httpThreads = new HttpThreads(parts);
    try {
      await httpThreads.threads.begin();
    } catch (error) {
      await httpThreads.close(0);
      throw error;
    }
    return httpThreads;
  }

  /** Threads that ended though nobody asked them to. */
  get failures(): number {
    return this.threads.failures;
  }

  /** How many connections each thread serves. */
  get connections(): number[] {
    return this.threads.connections;
  }

  /** Opens the port and answers its number. Errors: invalid_parameter when the port or address can't be used. */
  listen(port: number, host: string): Promise<number> {
    const { logger, duplicateHandle } = this.parts;
    const onError = (error: Error): void => logger.error({ error }, 'the API port could not take a connection');
    return listen(this.server, port, host, onError, duplicateHandle);
  }

  /** Resolves when every thread has reported what it counted before this call; one that is late is not waited for. */
  flush(): Promise<void> {
    return this.threads.flush();
  }

  /**
   * Resolves when every thread that serves has taken what it was told before; one that starts takes it before it
   * serves.
   */
  synced(): Promise<void> {
    return this.threads.askAll('synced');
  }

  /**
   * Takes no connections any more, lets running requests finish, cuts the rest after `graceMs` and ends the threads.
   */
  async close(graceMs: number): Promise<void> {
    const closed = this.server.listening
      ? new Promise<void>((resolve) => this.server.close(() => resolve()))
      : Promise.resolve();
    for (const socket of this.held.take()) socket.destroy();
    await this.threads.close(graceMs);
    // Only now: to a thread that still answers, a main thread without a beat is late, and it would refuse its requests.
    clearInterval(this.beat);
    await closed;
  }

  /** Gives a connection to the thread that serves the fewest; where none does, to the first that begins to. */
  private deal(socket: Socket): void {
    const { connections, turnedAway } = this.dealt();
    const isTurnedAway = connections - turnedAway >= this.parts.data.connectionsMax || this.parts.isShort();
    if (isTurnedAway) this.sweep();
    if (isTurnedAway && turnedAway >= REFUSED_MAX) {
      socket.destroy();
      return;
    }
    if (!this.threads.isServing && !isTurnedAway) {
      this.held.hold(socket);
      return;
    }
    const thread = this.threads.deal(socket, isTurnedAway);
    if (thread !== null && isTurnedAway) thread.own.dealtTurnedAway += 1;
  }

  /** Closes idle connections to make room. */
  private sweep(): void {
    const nowMs = performance.now();
    if (nowMs - this.sweptMs < SWEEP_MS) return;
    this.sweptMs = nowMs;
    for (const { peer } of this.threads.running) peer.tell('sweep');
  }

  /** The connections of all threads, and those of them that are only told that there is no room. */
  private dealt(): { connections: number; turnedAway: number } {
    const connections = this.threads.connections.reduce((sum, count) => sum + count, 0);
    const turnedAway = this.threads.running.reduce(
      (sum, { own, state }) =>
        sum + ((own.dealtTurnedAway - Atomics.load(state, HTTP_THREAD_STATE.closedTurnedAway)) | 0),
      0,
    );
    return { connections, turnedAway };
  }

  private read(front: HttpThread, report: HttpThreadReport): void {
    front.reader.read(report);
    front.load = report.load;
    this.sumLoads();
  }

  private sumLoads(): void {
    const sum = { ...NO_LOAD, refused: this.refused };
    for (const { own } of this.threads.running) {
      for (const name of Object.keys(sum) as (keyof HttpThreadLoad)[]) sum[name] += own.load[name];
    }
    this.parts.onLoad(sum);
  }
}

function showBeat(state: Int32Array): void {
  Atomics.store(state, HTTP_THREAD_STATE.mainBeat, Math.floor(sharedMs()));
}
