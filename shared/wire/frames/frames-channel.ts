import { connect as connectSocket, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Metadata, status } from '@grpc/grpc-js';
import { silentLogger } from '../../base/logs/logger';
import { MemberProof } from '../../base/secret/member-proof';
import { inTime } from '../../base/time/deadline';
import { FRAME_TYPES, FrameLink } from './frame-link';
import { metadataFromBytes, metadataFromJson, metadataToBytes } from '../handshake/handshake-metadata';
import { MemberHandshake, type OpenSession } from '../handshake/member-handshake';
import { greet, READS_GREETING } from './reads-greeting';
import type { ClusterCredentials, StreamListener } from '../streams/rpc-channel';
import type { RpcStream, StreamMethod } from '../streams/rpc-stream';
import type { ClusterTls } from '../handshake/transport-security';

/** For connecting, the greeting and TLS. */
const CONNECTED_WITHIN_MS = 5_000;

/**
 * Connections to a member that carry frames (frame-link.ts), without what HTTP/2 costs: one for each stream. By the
 * greeting, a thread that answers reads takes them, or the member itself.
 * Who may be at the other end is found as on any other connection: TLS, and the members' proofs.
 */
export class FramesChannel {
  private readonly address: string;
  private readonly greeting: Buffer;
  private readonly tls: ClusterTls | null;
  private readonly handshake: MemberHandshake;
  private readonly closings = new Set<() => void>();

  constructor({
    address,
    credentials,
    greeting = READS_GREETING,
  }: {
    address: string;
    credentials: ClusterCredentials;
    greeting?: Buffer;
  }) {
    this.address = address;
    this.greeting = greeting;
    this.tls = credentials.tls;
    this.handshake = new MemberHandshake({
      address,
      name: credentials.name ?? '',
      proof: new MemberProof(credentials),
      version: credentials.version,
      log: credentials.log ?? silentLogger,
    });
  }

  /** As RpcChannel.open. Nothing may be written before the stream is ready. */
  open<Out, In>(method: StreamMethod<Out, In>, listener: StreamListener<In>): RpcStream<Out> {
    const stream = new FramesStream(method, listener, this.handshake);
    const close = (): void => stream.end(false, 'the channel is closed');
    this.closings.add(close);
    stream.onEnd = () => void this.closings.delete(close);
    this.connect(stream);
    return stream;
  }

  close(): void {
    for (const close of [...this.closings]) close();
  }

  private connect(stream: Connecting): void {
    const { host, port } = partsOf(this.address);
    let socket: Socket;
    try {
      socket = connectSocket({ host, port });
    } catch (error) {
      // A port that there can't be. Nothing is told within the call that opens the stream.
      setImmediate(() => stream.end(false, (error as Error).message));
      return;
    }
    socket.on('error', (error) => stream.end(false, error.message));
    socket.on('close', () => stream.end(false, 'the connection was lost'));
    // A socket that is destroyed fails what it is asked for.
    stream.cutFirst = () => socket.destroy();
    inTime(this.secured(socket, host), CONNECTED_WITHIN_MS, late).then(
      (secured) => stream.begin(secured),
      (error: Error) => {
        socket.destroy();
        stream.end(false, error.message);
      },
    );
  }

  private async secured(socket: Socket, host: string): Promise<Socket> {
    await greet(socket, this.greeting);
    if (this.tls === null) return socket;
    const { ca, cert, key } = this.tls.renewed?.current ?? this.tls;
    const name = this.tls.serverName ?? host;
    return new Promise((done, fail) => {
      const secured = connectTls(
        {
          socket,
          host: name,
          servername: isIP(name) === 0 ? name : '',
          ca,
          cert: cert ?? undefined,
          key: key ?? undefined,
        },
        () => {
          secured.off('error', fail);
          done(secured);
        },
      );
      secured.once('error', fail);
    });
  }
}

function late(): Error {
  return new Error('nobody took the connection in time');
}

/** What a connection is made for. */
interface Connecting {
  cutFirst: () => void;
  begin(socket: Socket): void;
  end(isRefused: boolean, reason: string): void;
}

/** One stream, from its connection to its end. */
class FramesStream<Out, In> implements RpcStream<Out>, Connecting {
  cutFirst: () => void = () => undefined;
  onEnd: () => void = () => undefined;
  private link: FrameLink | null = null;
  private session: OpenSession | null = null;
  private isReady = false;
  private isOver = false;

  constructor(
    private readonly method: StreamMethod<Out, In>,
    private readonly listener: StreamListener<In>,
    private readonly handshake: MemberHandshake,
  ) {}

  /** The connection is there: the handshake follows. */
  begin(socket: Socket): void {
    if (this.isOver) return void socket.destroy();
    const { clientNonce, metadata } = this.handshake.hello();
    this.link = new FrameLink(socket, {
      frame: (type, bytes) => {
        if (this.isReady && type === FRAME_TYPES.message) this.listener.frame(this.method.responseDeserialize(bytes));
        else this.shake(type, bytes, clientNonce);
      },
      ended: (reason) => this.end(false, reason),
      quiet: this.method.isQuiet === true ? 'asks' : undefined,
    });
    this.link.send(FRAME_TYPES.hello, metadataToBytes(metadata));
  }

  write(frame: Out, taken: () => void): void {
    if (!this.isOver) this.link?.send(FRAME_TYPES.message, this.method.requestSerialize(frame), taken);
  }

  finish(): void {
    this.link?.finish();
  }

  cancel(): void {
    setImmediate(() => this.end(false, 'cancelled'));
  }

  end(isRefused: boolean, reason: string): void {
    if (this.isOver) return;
    this.isOver = true;
    this.onEnd();
    if (this.link === null) this.cutFirst();
    else this.link.cut(reason);
    this.listener.ended({ isRefused, reason });
  }

  /** Throws at what has no place here. */
  private shake(type: number, bytes: Buffer, clientNonce: Buffer): void {
    const link = this.link!;
    if (type === FRAME_TYPES.greeting && this.session === null) {
      const outcome = this.handshake.outcomeOf(metadataFromBytes(bytes), clientNonce);
      if ('key' in outcome) {
        this.session = outcome;
        return link.send(FRAME_TYPES.stream, metadataToBytes(this.handshake.metadataFor(outcome, this.method.path)));
      }
      // So that the other side logs it too. It reveals nothing to a stranger.
      if ('isUnproven' in outcome) link.send(FRAME_TYPES.hello, metadataToBytes(this.handshake.objection()));
      link.finish();
      return this.end(outcome.isRefused, outcome.reason);
    }
    if (type === FRAME_TYPES.admitted && this.session !== null && !this.isReady) {
      this.isReady = true;
      this.session.isTaken = true;
      link.admit();
      return this.listener.ready(this.session.version);
    }
    if (type === FRAME_TYPES.refused && !this.isReady) {
      const { code, details, metadata } = refusalFromBytes(bytes);
      const failure =
        this.session === null
          ? this.handshake.failureOf({ code, message: details, metadata })
          : { isRefused: code === status.UNAUTHENTICATED || code === status.PERMISSION_DENIED, reason: details };
      return this.end(failure.isRefused, failure.reason);
    }
    throw new Error(`a frame of type ${type}, which has no place here`);
  }
}

/** What is sent of a refusal. */
interface SentRefusal {
  code: status;
  details: string;
  metadata: Metadata;
}

export function refusalToBytes({
  code,
  details,
  metadata = new Metadata(),
}: {
  code: status;
  details: string;
  metadata?: Metadata | undefined;
}): Buffer {
  return Buffer.from(JSON.stringify({ code, details, metadata: metadata.toHttp2Headers() }));
}

function refusalFromBytes(bytes: Buffer): SentRefusal {
  const { code, details, metadata } = JSON.parse(bytes.toString()) as Record<string, unknown>;
  return { code: Number(code), details: String(details), metadata: metadataFromJson(metadata) };
}

function partsOf(address: string): { host: string; port: number } {
  const at = address.lastIndexOf(':');
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(address.slice(at + 1)) };
}
