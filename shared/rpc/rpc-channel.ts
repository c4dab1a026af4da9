import { Client, type ClientDuplexStream, type ServiceError, status } from '@grpc/grpc-js';
import { channelOptions } from './channel-options';
import { secretMetadata } from './cluster-secret';
import { type ClusterTls, channelCredentials, serverNameOptions } from './transport-security';

/** How this process presents itself to the other members of its cluster. */
export interface ClusterCredentials {
  secret: string;
  /** null: no encryption. */
  tls: ClusterTls | null;
}

/** What a caller needs to know of a method (as in the generated definitions). */
export interface StreamMethod<Out, In> {
  path: string;
  requestSerialize: (frame: Out) => Buffer;
  responseDeserialize: (bytes: Buffer) => In;
}

/** Why a stream is over. */
export interface StreamEnd {
  /** The other side refused the secret or the certificate's holder: trying again is of no use. */
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

/**
 * The connection to one member, made at the first stream and again when it was lost and another stream is opened; while
 * the member cannot be reached, streams end at once. Only when a stream neither becomes ready nor ends is the channel
 * to be replaced.
 */
export class RpcChannel {
  private readonly client: Client;
  private readonly secret: string;

  constructor(parts: { address: string; credentials: ClusterCredentials }) {
    this.client = new Client(parts.address, channelCredentials(parts.credentials.tls), { ...channelOptions, ...serverNameOptions(parts.credentials.tls) });
    this.secret = parts.credentials.secret;
  }

  /**
   * Opens a stream of a method. `ready` is called when the other side has taken it, `frame` with each of its frames,
   * `ended` exactly once, after the last frame.
   */
  open<Out, In>(
    method: StreamMethod<Out, In>,
    hears: { ready: () => void; frame: (frame: In) => void; ended: (end: StreamEnd) => void },
  ): RpcStream<Out> {
    const call: ClientDuplexStream<Out, In> = this.client.makeBidiStreamRequest<Out, In>(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      secretMetadata(this.secret),
    );
    let isOver = false;
    const end = (how: StreamEnd): void => {
      if (isOver) return;
      isOver = true;
      hears.ended(how);
    };
    call.on('metadata', () => {
      if (!isOver) hears.ready();
    });
    call.on('data', (frame: In) => {
      if (!isOver) hears.frame(frame);
    });
    call.on('error', (error: ServiceError) => {
      end({ isRefused: error.code === status.UNAUTHENTICATED || error.code === status.PERMISSION_DENIED, reason: error.message });
    });
    call.on('end', () => end({ isRefused: false, reason: 'the other side ended the stream' }));
    return {
      write: (frame, taken) => {
        if (isOver) return;
        call.write(frame, (error?: Error | null) => {
          if (!isOver && !error) taken();
        });
      },
      finish: () => call.end(),
      // Not at once: within the callback that brings a frame or an end, Node's HTTP/2 sends for ever (nodejs/node#39076).
      cancel: () => void setImmediate(() => call.cancel()),
    };
  }

  /** Closes the connection; streams must have been ended or cancelled. */
  close(): void {
    this.client.close();
  }
}
