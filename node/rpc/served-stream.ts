import { Metadata, type ServerDuplexStream, status } from '@grpc/grpc-js';
import { type FrameEntry, FrameSender } from '../../shared/rpc/frame-sender';

/** While this much waits to be sent, no more requests are read from the stream: the reader is slower than it asks. */
const PAUSE_BYTES = 8 * 1024 * 1024;

/** What is running when a stream is paused still answers it; when this much has piled up, larger answers are not kept. */
const QUEUED_BYTES_MAX = 64 * 1024 * 1024;

/** One stream of requests that a node serves: frames in, answers out, with the bounds that keep a slow reader harmless. */
export class ServedStream<In, Out> {
  private readonly sender: FrameSender<Out>;
  private readonly call: ServerDuplexStream<In, Out>;
  private running = 0;
  private isOver = false;
  private isDraining = false;
  private onQuiet: (() => void)[] = [];

  /** `frame` is called with each frame; `ended` once, when nobody listens any more; `cut` before, when it is this side's doing. */
  constructor(
    private readonly parts: {
      call: ServerDuplexStream<In, Out>;
      emptyFrame: () => Out;
      frame: (frame: In) => void;
      ended: () => void;
      cut: (reason: string) => void;
      /** A reader that takes nothing for so long is cut: it can ask again on another stream. */
      stallMs: number;
    },
  ) {
    const { call, emptyFrame, frame } = parts;
    this.call = call;
    this.sender = new FrameSender<Out>({
      emptyFrame,
      write: (out, taken) => void call.write(out, (error?: Error | null) => error || taken()),
      stallMs: parts.stallMs,
      stalled: () => this.cut('the reader takes no answers'),
      taken: () => this.resumeWhenRoom(),
    });
    call.on('data', (incoming: In) => {
      if (!this.isOver && !this.isDraining) frame(incoming);
    });
    call.on('end', () => void this.drain());
    call.on('cancelled', () => this.end());
    call.on('close', () => this.end());
    // The caller waits for this before it sends anything: so it knows that it was let in.
    call.sendMetadata(new Metadata());
  }

  /** Sends answers; nothing happens once the stream is over. */
  push(entry: FrameEntry<Out>): void {
    if (this.isOver) return;
    this.sender.push(entry);
    if (this.sender.queuedBytes > PAUSE_BYTES) this.call.pause();
  }

  /** More waits to be sent than a large answer should be added to. */
  get isFull(): boolean {
    return this.sender.queuedBytes > QUEUED_BYTES_MAX;
  }

  /** A request has begun, or ended and pushed its answer: draining waits for as many ends as beginnings. */
  begin(): void {
    this.running += 1;
  }

  finish(): void {
    this.running -= 1;
    if (this.running > 0) return;
    for (const done of this.onQuiet.splice(0)) done();
  }

  /** Takes no more frames; ends the stream when what runs is answered. */
  async drain(): Promise<void> {
    this.isDraining = true;
    if (this.running > 0) await new Promise<void>((done) => this.onQuiet.push(done));
    await this.sender.idle();
    if (!this.isOver) this.call.end();
    this.end();
  }

  private cut(reason: string): void {
    if (this.isOver) return;
    this.parts.cut(reason);
    this.call.emit('error', { code: status.RESOURCE_EXHAUSTED, details: reason });
    this.end();
  }

  private end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.sender.close();
    // Whatever still comes in is thrown away.
    this.call.resume();
    this.parts.ended();
  }

  private resumeWhenRoom(): void {
    if (this.call.isPaused() && this.sender.queuedBytes < PAUSE_BYTES / 2) this.call.resume();
  }
}
