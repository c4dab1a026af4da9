import type { RpcStream, StreamEnd } from './rpc-stream';

/**
 * A stream that is opened once the other side has proven itself. Frames written before that wait here. Senders count
 * the frames that were not taken, which bounds what waits.
 */
export class WaitingStream<Out> implements RpcStream<Out> {
  private stream: RpcStream<Out> | null = null;
  private waiting: { frame: Out; taken: () => void }[] = [];
  private isFinished = false;
  private isCancelled = false;
  private isOver = false;

  constructor(private readonly ended: (end: StreamEnd) => void) {}

  /** Opens the stream, unless it was given up meanwhile. */
  begin(open: () => RpcStream<Out>): void {
    if (this.isOver || this.isCancelled) return;
    const stream = open();
    this.stream = stream;
    for (const { frame, taken } of this.waiting) stream.write(frame, taken);
    this.waiting = [];
    if (this.isFinished) stream.finish();
  }

  /** Reports that the stream can't be opened. */
  fail(end: StreamEnd): void {
    if (this.isOver) return;
    this.isOver = true;
    this.waiting = [];
    this.ended(end);
  }

  write(frame: Out, taken: () => void): void {
    if (this.stream !== null) this.stream.write(frame, taken);
    else if (!this.isOver && !this.isCancelled) this.waiting.push({ frame, taken });
  }

  finish(): void {
    this.isFinished = true;
    this.stream?.finish();
  }

  cancel(): void {
    this.isCancelled = true;
    if (this.stream !== null) this.stream.cancel();
    else setImmediate(() => this.fail({ isRefused: false, reason: 'cancelled' }));
  }
}
