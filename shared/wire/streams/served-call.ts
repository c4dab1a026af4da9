import type { Metadata } from '@grpc/grpc-js';

/**
 * A stream as seen by the side that serves it: gRPC's, as far as it is used, or one of frames on a connection of its
 * own.
 */
export interface ServedCall<In, Out> {
  on(event: 'data', listener: (frame: In) => void): unknown;
  on(event: 'end' | 'cancelled' | 'close' | 'error', listener: () => void): unknown;
  /** With an error that is nobody's: ends the stream. */
  emit(event: 'error', error: unknown): unknown;
  /** Says that the stream is admitted. */
  sendMetadata(metadata: Metadata): void;
  write(frame: Out, taken: (error?: Error | null) => void): unknown;
  pause(): unknown;
  resume(): unknown;
  isPaused(): boolean;
  end(): unknown;
  /** Cuts it, with what is not sent yet. */
  destroy(): unknown;
  getPeer(): string;
}
