import { Client, type ClientDuplexStream, type ServiceError, status } from '@grpc/grpc-js';
import { type Logger, silentLogger } from '../logs/logger';
import { MemberProof } from '../secret/member-proof';
import { channelOptions } from './channel-options';
import { MemberSession, type OpenSession } from './member-session';
import type { RpcStream, StreamEnd, StreamMethod } from './rpc-stream';
import { type ClusterTls, channelCredentials, serverNameOptions } from './transport-security';
import { WaitingStream } from './waiting-stream';

export type { RpcStream, StreamEnd, StreamMethod } from './rpc-stream';

/** How this process presents itself to the other members of its cluster. */
export interface ClusterCredentials {
  /** What members prove to each other that they know; it is never sent. */
  secret: string;
  /** Taken beside it, while one is replaced by the other. */
  otherSecret?: string;
  /** By which others know this process in their logs. */
  name?: string;
  /** null: no encryption. */
  tls: ClusterTls | null;
  log?: Logger;
}

/** How the opener of a stream hears of it: `ended` exactly once, after the last frame. */
interface StreamListener<In> {
  ready: () => void;
  frame: (frame: In) => void;
  ended: (end: StreamEnd) => void;
}

/**
 * The connection to one member, made at the first stream and again when it was lost and another stream is opened; while
 * the member cannot be reached, streams end at once. Only when a stream neither becomes ready nor ends is the channel
 * to be replaced. The first stream waits for a handshake, one round trip; those that follow don't, until the connection
 * was lost.
 */
export class RpcChannel {
  private readonly client: Client;
  private readonly session: MemberSession;

  constructor(parts: { address: string; credentials: ClusterCredentials }) {
    const { address, credentials } = parts;
    this.client = new Client(address, channelCredentials(credentials.tls), { ...channelOptions, ...serverNameOptions(credentials.tls) });
    this.session = new MemberSession({ client: this.client, address, name: credentials.name ?? '', proof: new MemberProof(credentials), log: credentials.log ?? silentLogger });
  }

  /** Opens a stream of a method. `ready` is called when the other side has taken it, `frame` with each of its frames. */
  open<Out, In>(method: StreamMethod<Out, In>, hears: StreamListener<In>): RpcStream<Out> {
    const session = this.session.current;
    if (session !== null) return this.start(method, hears, session);
    const waiting = new WaitingStream<Out>(hears.ended);
    void this.session.make().then((outcome) => {
      if ('key' in outcome) waiting.begin(() => this.start(method, hears, outcome));
      else waiting.fail(outcome);
    });
    return waiting;
  }

  private start<Out, In>(method: StreamMethod<Out, In>, hears: StreamListener<In>, session: OpenSession): RpcStream<Out> {
    const call: ClientDuplexStream<Out, In> = this.client.makeBidiStreamRequest<Out, In>(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      this.session.metadataFor(session, method.path),
    );
    let isOver = false;
    const end = (how: StreamEnd): void => {
      if (isOver) return;
      isOver = true;
      hears.ended(how);
    };
    call.on('metadata', () => {
      session.isTaken = true;
      if (!isOver) hears.ready();
    });
    call.on('data', (frame: In) => {
      if (!isOver) hears.frame(frame);
    });
    call.on('error', (error: ServiceError) => {
      // The other side may have been started anew, and knows nothing of the session then.
      if (error.code !== status.CANCELLED) this.session.forget(session);
      const isUnproven = error.code === status.UNAUTHENTICATED || error.code === status.PERMISSION_DENIED;
      end({ isRefused: isUnproven && !session.isTaken, reason: error.message });
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
    this.session.close();
    this.client.close();
  }
}
