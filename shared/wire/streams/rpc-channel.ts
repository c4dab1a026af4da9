import { Client, type ClientDuplexStream, type ServiceError, status } from '@grpc/grpc-js';
import { type Logger, silentLogger } from '../../base/logs/logger';
import type { MemberVersion } from '../../base/process/member-version';
import { MemberProof } from '../../base/secret/member-proof';
import { channelOptions } from './channel-options';
import { MemberHandshake } from '../handshake/member-handshake';
import { MemberSession, type OpenSession } from '../handshake/member-session';
import { OwnedCredentials } from '../handshake/owned-credentials';
import { ProofCredentials } from '../handshake/proof-credentials';
import type { RpcStream, StreamEnd, StreamMethod } from './rpc-stream';
import { type ClusterTls, channelCredentials, serverNameOptions } from '../handshake/transport-security';
import { WaitingStream } from './waiting-stream';

export type { RpcStream, StreamEnd, StreamMethod } from './rpc-stream';

/** How this process identifies itself to the other members of its cluster. */
export interface ClusterCredentials {
  /** The secret that members prove to know. It is never sent. */
  secret: string;
  /** Accepted as well, while one secret is replaced by the other. */
  otherSecret?: string;
  /** The name of this process in the logs of others. */
  name?: string;
  /** null: no encryption. */
  tls: ClusterTls | null;
  /** What other members are told of this program; by default OWN_VERSION. */
  version?: MemberVersion;
  log?: Logger;
}

/** Callbacks for whoever opens a stream. `ended` is called exactly once, after the last frame. */
export interface StreamListener<In> {
  /** `version`: that of the other side's program. */
  ready: (version: MemberVersion) => void;
  frame: (frame: In) => void;
  ended: (end: StreamEnd) => void;
}

/** What opens streams to one member, over HTTP/2 or frames. */
export type StreamChannel = Pick<RpcChannel, 'open' | 'close'>;

/**
 * The connection to one member. It is made at the first stream, and again when it was lost and another stream is
 * opened. While the member can't be reached, streams end at once. The channel has to be replaced only if a stream
 * neither becomes ready nor ends. The first stream waits for a handshake, one round trip; the following ones don't,
 * until the connection is lost.
 */
export class RpcChannel {
  private readonly session: MemberSession;
  /** null: by TLS, both ends have shown certificates before HTTP/2 begins. */
  private readonly proof: ProofCredentials | null;

  /**
   * `keepaliveMs`: how often the other end is asked for a sign of life; default: so often that its loss is seen within
   * 3 s.
   */
  constructor(parts: { address: string; credentials: ClusterCredentials; keepaliveMs?: number | undefined }) {
    const { address, credentials, keepaliveMs } = parts;
    const handshake = new MemberHandshake({
      address,
      name: credentials.name ?? '',
      proof: new MemberProof(credentials),
      version: credentials.version,
      log: credentials.log ?? silentLogger,
    });
    this.proof = credentials.tls === null ? new ProofCredentials({ handshake }) : null;
    const own = this.proof ?? channelCredentials(credentials.tls);
    const options = {
      ...channelOptions,
      ...serverNameOptions(credentials.tls),
      ...(keepaliveMs !== undefined && { 'grpc.keepalive_time_ms': keepaliveMs }),
    };
    this.session = new MemberSession({
      handshake,
      connect: () => new Client(address, new OwnedCredentials(own), options),
      isBetterAnew: () => this.proof?.isBetterAnew() ?? false,
    });
  }

  /**
   * Opens a stream of a method. `ready` is called when the other side has accepted it, `frame` with each of its frames;
   * none of them within this call.
   */
  open<Out, In>(method: StreamMethod<Out, In>, listener: StreamListener<In>): RpcStream<Out> {
    const session = this.session.current;
    if (session !== null) return this.start(method, listener, session);
    const waiting = new WaitingStream<Out>(listener.ended);
    void this.session.make().then((outcome) => {
      if ('key' in outcome) waiting.begin(() => this.start(method, listener, outcome));
      else waiting.fail(outcome);
    });
    return waiting;
  }

  private start<Out, In>(
    method: StreamMethod<Out, In>,
    listener: StreamListener<In>,
    session: OpenSession,
  ): RpcStream<Out> {
    const call: ClientDuplexStream<Out, In> = this.session.connection.makeBidiStreamRequest<Out, In>(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      this.session.metadataFor(session, method.path),
    );
    let isOver = false;
    const end = (how: StreamEnd): void => {
      if (isOver) return;
      isOver = true;
      listener.ended(how);
    };
    call.on('metadata', () => {
      session.isTaken = true;
      if (!isOver) listener.ready(session.version);
    });
    call.on('data', (frame: In) => {
      if (!isOver) listener.frame(frame);
    });
    call.on('error', (error: ServiceError) => {
      // The other side may have restarted, and then it does not know the session.
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
      // Not within this callback: cancelling a stream while HTTP/2 delivers a frame or an end makes Node send for ever
      // (nodejs/node#39076).
      cancel: () => void setImmediate(() => call.cancel()),
    };
  }

  /** Closes the connection. All streams must have ended or been cancelled. */
  close(): void {
    this.session.close();
  }
}
