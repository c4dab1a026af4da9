import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { loadBodyScanner } from '../native/body-scanner';
import { StreamResponse } from './stream-response';

/** The part of a socket's handle that says what the system has taken of what it was given. */
interface SocketHandle {
  fd?: number;
  bytesWritten?: number;
  writeQueueSize?: number;
}

/** In one time of patience, it is looked so often. */
const LOOKS = 8;
const LOOK_MS_MAX = 4_000;

/** How slowly an answer may be taken. */
export interface PaceBounds {
  /** The longest time without the client taking anything. */
  stallTimeoutMs: number;
  /** Bytes that a client must take in a second, over that time; 0: one byte is enough. */
  stallBytesPerSecond: number;
}

/**
 * Whether the client takes its answer fast enough. Only times count in which it is waited for. A client may be behind
 * the pace by what it would have taken within the time of patience, and as much ahead.
 */
export class ReaderPace {
  readonly lookMs: number;
  private readonly allowance: number;
  private lastMs = 0;
  private lastTaken: number | null = null;
  private lastOfConnection = 0;
  private quietMs = 0;
  private owed = 0;

  constructor(private readonly bounds: PaceBounds) {
    const { stallTimeoutMs, stallBytesPerSecond } = bounds;
    this.lookMs = Math.max(1, Math.min(LOOK_MS_MAX, stallTimeoutMs / LOOKS));
    this.allowance = (stallBytesPerSecond * stallTimeoutMs) / 1000;
  }

  /** It is waited for the client from now on. */
  begin(nowMs: number, progress: TakenBytes): void {
    this.lastMs = nowMs;
    this.quietMs = 0;
    this.lastTaken ??= progress.ofAnswer();
    this.lastOfConnection = progress.ofConnection();
  }

  /** False: the client is too slow. */
  look(nowMs: number, progress: TakenBytes): boolean {
    const { stallTimeoutMs, stallBytesPerSecond } = this.bounds;
    // The time of a look is the client's; a pause of this process is not.
    const passedMs = Math.min(nowMs - this.lastMs, 2 * this.lookMs);
    const taken = progress.ofAnswer();
    const news = taken - this.lastTaken!;
    const ofConnection = progress.ofConnection();
    const newsOfConnection = ofConnection - this.lastOfConnection;
    this.lastMs = nowMs;
    this.lastTaken = taken;
    this.lastOfConnection = ofConnection;
    const due = (stallBytesPerSecond * passedMs) / 1000;
    // The line is what is slow, and other answers take their share of it.
    if (progress.isShared && progress.isLineBusy() && newsOfConnection > 0 && newsOfConnection >= due) {
      this.quietMs = 0;
      return true;
    }
    this.quietMs = news > 0 ? 0 : this.quietMs + passedMs;
    this.owed = Math.max(-this.allowance, this.owed + due - Math.max(0, news));
    return this.quietMs < stallTimeoutMs && (stallBytesPerSecond === 0 || this.owed <= this.allowance);
  }
}

/**
 * Cuts an answer off that somebody else writes, as soon as it is taken too slowly. Calls `ended` once, when it is sent
 * or broken off.
 */
export function watchReader(
  response: ServerResponse,
  bounds: PaceBounds,
  nowMs: () => number,
  ended: () => void,
): void {
  const pace = new ReaderPace(bounds);
  const taken = new TakenBytes(response);
  const look = setInterval(() => {
    if (response.socket === null || response.writableLength === 0) pace.begin(nowMs(), taken);
    else if (!pace.look(nowMs(), taken)) response.destroy();
  }, pace.lookMs);
  response.once('close', () => {
    clearInterval(look);
    ended();
  });
  pace.begin(nowMs(), taken);
}

/** What clients have taken of an answer, as far as the system shows. */
export class TakenBytes {
  private socket: Socket | null = null;
  /** Of an answer over HTTP/2: bytes that were given to its stream and that this has sent. */
  private streamed = 0;
  /** Whether other answers may use the connection at the same time. */
  readonly isShared: boolean;

  constructor(private readonly response: ServerResponse) {
    this.isShared = response instanceof StreamResponse;
  }

  /** The stream of HTTP/2 has sent so many bytes more. */
  streamHasSent(bytes: number): void {
    this.streamed += bytes;
  }

  ofAnswer(): number {
    return this.isShared ? this.streamed : this.ofConnection();
  }

  /** What the other side has acknowledged. */
  ofConnection(): number {
    const socket = this.connection();
    return socket === null ? 0 : bytesTakenOf(socket);
  }

  /** Whether something is on its way that was not acknowledged. */
  isLineBusy(): boolean {
    const socket = this.connection();
    const handle = socket === null ? null : handleOf(socket);
    return handle !== null && ((handle.writeQueueSize ?? 0) > 0 || untaken(handle) > 0);
  }

  private connection(): Socket | null {
    // Without one, the answer waits for an earlier one. When it has ended, it loses it.
    return (this.socket ??= this.response.socket);
  }
}

/** Bytes of a connection that the other side has acknowledged, as far as the system shows. */
export function bytesTakenOf(socket: Socket): number {
  const handle = handleOf(socket);
  if (handle === null) return socket.bytesWritten;
  return (handle.bytesWritten ?? 0) - (handle.writeQueueSize ?? 0) - untaken(handle);
}

function handleOf(socket: Socket): SocketHandle | null {
  return socket.destroyed ? null : ((socket as Socket & { _handle?: SocketHandle | null })._handle ?? null);
}

function untaken({ fd }: SocketHandle): number {
  if (fd === undefined || fd < 0) return 0;
  return loadBodyScanner().untakenBytes(fd);
}
