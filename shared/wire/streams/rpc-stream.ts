/** What a caller needs to know about a method (as in the generated definitions). */
export interface StreamMethod<Out, In> {
  path: string;
  /**
   * Messages come seldom, by intent, and each that is sent is answered: on a connection of its own, silence means less.
   */
  isQuiet?: boolean;
  requestSerialize: (frame: Out) => Buffer;
  responseDeserialize: (bytes: Buffer) => In;
}

/** Why a stream ended. */
export interface StreamEnd {
  /** One side does not accept the other's proof of the secret, so trying again is useless. */
  isRefused: boolean;
  /** For the log. */
  reason: string;
}

/** One bidirectional stream, as seen by the side that opened it. */
export interface RpcStream<Out> {
  /** Sends a frame. `taken` is called when the connection has it, but never after the end. */
  write(frame: Out, taken: () => void): void;
  /** This side sends no more frames; the other side ends the stream. */
  finish(): void;
  /** Ends the stream in the next turn of the event loop; `ended` is called later. */
  cancel(): void;
}
