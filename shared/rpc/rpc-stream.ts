/** What a caller needs to know of a method (as in the generated definitions). */
export interface StreamMethod<Out, In> {
  path: string;
  requestSerialize: (frame: Out) => Buffer;
  responseDeserialize: (bytes: Buffer) => In;
}

/** Why a stream is over. */
export interface StreamEnd {
  /** One side does not take the other's proof of the secret: trying again is of no use. */
  isRefused: boolean;
  /** For the log. */
  reason: string;
}

/** One bidirectional stream, as the side sees it that opened it. */
export interface RpcStream<Out> {
  /** Sends a frame; `taken` is called when the connection has it, never after the end. */
  write(frame: Out, taken: () => void): void;
  /** Takes no more frames from this side; the other side ends the stream. */
  finish(): void;
  /** Ends the stream, in the next turn of the event loop; `ended` is called later. */
  cancel(): void;
}
