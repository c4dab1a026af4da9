import type { StreamChannel, StreamEnd } from '../../../shared/wire/streams/rpc-channel';
import type { Clock } from '../../../shared/base/time/clock';
import { type BackoffPauses, RetryBackoff } from '../../../shared/base/time/retry-backoff';

/** A stream that has not become ready within this time, nor ended, is on a useless connection. */
const CONNECT_TIMEOUT_MS = 2_000;

/**
 * A thread that ended is replaced within a second or two; meanwhile reads go to the main thread, so nobody waits for
 * this.
 */
const PAUSES: BackoffPauses = { firstMs: 100, longestMs: 5_000 };

const SILENT: StreamEnd = { isRefused: false, reason: 'the node gave the connection to no thread in time' };

/** The part of a stream of requests that is used here. */
interface Stream {
  close(end: StreamEnd): void;
}

interface OpenStream<Of> {
  /** null: it is being made. */
  stream: Of | null;
  isReady: boolean;
}

/**
 * The stream to a thread of a node that answers reads, over a connection of its own. It is opened when it is first
 * asked for, and again, after a pause, when it has ended: that breaks only what was under way on it.
 */
export class ThreadReads<Of extends Stream> {
  private open: OpenStream<Of> | null = null;
  private channel: StreamChannel | null = null;
  private readonly backoff = new RetryBackoff(PAUSES);
  private notBeforeMs = -Infinity;
  private isClosed = false;

  constructor(
    private readonly parts: {
      newChannel: () => StreamChannel;
      openStream: (channel: StreamChannel, listener: { ready: () => void; ended: (end: StreamEnd) => void }) => Of;
      clock: Clock;
    },
  ) {}

  /** The stream, if it can be used now; null: reads go another way. */
  get ready(): Of | null {
    if (this.open === null) this.connect();
    return this.open?.isReady === true ? this.open.stream : null;
  }

  /** The stream, ready or not; null while there is none. */
  get stream(): Of | null {
    return this.open?.stream ?? null;
  }

  close(end: StreamEnd): void {
    this.isClosed = true;
    this.open?.stream?.close(end);
    this.channel?.close();
  }

  private connect(): void {
    const { newChannel, openStream, clock } = this.parts;
    if (this.isClosed || clock.monotonicMs() < this.notBeforeMs) return;
    // One that could not connect is used again: grpc-js connects once more after it is closed, and nobody would own
    // that connection.
    this.channel ??= newChannel();
    const opened: OpenStream<Of> = { stream: null, isReady: false };
    const timer = setTimeout(() => {
      opened.stream?.close(SILENT);
      this.channel?.close();
      this.channel = null;
    }, CONNECT_TIMEOUT_MS);
    // Before the call: the stream may end, or be ready, within it.
    this.open = opened;
    opened.stream = openStream(this.channel, {
      ready: () => {
        clearTimeout(timer);
        opened.isReady = true;
        this.backoff.reset();
      },
      ended: () => {
        clearTimeout(timer);
        this.notBeforeMs = clock.monotonicMs() + this.backoff.nextMs();
        if (this.open === opened) this.open = null;
      },
    });
  }
}
