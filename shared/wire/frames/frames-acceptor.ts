import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { createServer, type Server } from 'node:tls';
import { FRAME_TYPES, FrameLink } from './frame-link';
import { refusalToBytes } from './frames-channel';
import { metadataFromBytes, metadataToBytes } from '../handshake/handshake-metadata';
import type { MemberAdmission, Refusal } from '../handshake/member-admission';
import type { ServedCall } from '../streams/served-call';
import type { ClusterTls } from '../handshake/transport-security';

/** A method that is served over connections that carry frames. */
export interface FramesMethod<In, Out> {
  path: string;
  /** As StreamMethod says. */
  isQuiet?: boolean;
  requestDeserialize: (bytes: Buffer) => In;
  responseSerialize: (frame: Out) => Buffer;
  serve: (call: ServedCall<In, Out>) => void;
}

/**
 * Serves one method on connections that carry frames (frame-link.ts), to members that prove themselves as at any other
 * gate.
 */
export class FramesAcceptor<In, Out> {
  private readonly door: Server | null;
  private readonly sockets = new Set<Socket>();
  private readonly endRenewals: () => void;

  constructor(
    private readonly parts: { method: FramesMethod<In, Out>; admission: MemberAdmission; tls: ClusterTls | null },
  ) {
    const { tls } = parts;
    this.endRenewals = () => undefined;
    if (tls === null) {
      this.door = null;
      return;
    }
    const door = createServer({ ...contextOf(tls), requestCert: true, rejectUnauthorized: true });
    door.on('secureConnection', (socket) => this.begin(socket));
    // Node only tells that it takes too long, and leaves the connection open.
    door.on('tlsClientError', (_error, socket) => socket.destroy());
    if (tls.renewed !== undefined)
      this.endRenewals = tls.renewed.follow((certificates) => door.setSecureContext(contextOf(certificates)));
    this.door = door;
  }

  take(socket: Socket): void {
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    if (this.door === null) this.begin(socket);
    else this.door.emit('connection', socket);
  }

  /** Cuts what is left. */
  close(): void {
    this.endRenewals();
    for (const socket of [...this.sockets]) socket.destroy();
  }

  private begin(socket: Socket): void {
    const { admission, method } = this.parts;
    let hellos = 0;
    let call: FramesCall<In, Out> | null = null;
    const refuse = (refusal: Refusal): void => {
      link.send(FRAME_TYPES.refused, refusalToBytes(refusal));
      link.finish();
    };
    const link = new FrameLink(socket, {
      frame: (type, bytes) => {
        if (call !== null && type === FRAME_TYPES.message) return call.take(method.requestDeserialize(bytes));
        // The second one is an objection.
        if (call === null && type === FRAME_TYPES.hello && hellos < 2) {
          hellos += 1;
          const refusal = admission.hello(metadataFromBytes(bytes), link.peer, (answer) =>
            link.send(FRAME_TYPES.greeting, metadataToBytes(answer)),
          );
          if (refusal !== null) refuse(refusal);
        } else if (call === null && hellos > 0 && type === FRAME_TYPES.stream) {
          const refusal = admission.stream(metadataFromBytes(bytes), method.path, link.peer);
          if (refusal !== null) return refuse(refusal);
          link.admit();
          call = new FramesCall(link, method);
          method.serve(call);
        } else {
          throw new Error(`a frame of type ${type}, which has no place here`);
        }
      },
      ended: () => call?.lost(),
      quiet: method.isQuiet === true ? 'answers' : undefined,
    });
  }
}

class FramesCall<In, Out> extends EventEmitter implements ServedCall<In, Out> {
  constructor(
    private readonly link: FrameLink,
    private readonly method: FramesMethod<In, Out>,
  ) {
    super();
    this.on('error', ({ details }: { details?: string }) => link.cut(details ?? 'an error'));
  }

  take(frame: In): void {
    this.emit('data', frame);
  }

  lost(): void {
    this.emit('close');
  }

  sendMetadata(): void {
    this.link.send(FRAME_TYPES.admitted, null);
  }

  write(frame: Out, taken: () => void): void {
    this.link.send(FRAME_TYPES.message, this.method.responseSerialize(frame), taken);
  }

  pause(): void {
    this.link.pause();
  }

  resume(): void {
    this.link.resume();
  }

  isPaused(): boolean {
    return this.link.isPaused();
  }

  end(): void {
    this.link.finish();
  }

  destroy(): void {
    this.link.cut('closed');
  }

  getPeer(): string {
    return this.link.peer;
  }
}

function contextOf({ ca, cert, key }: { ca: Buffer; cert: Buffer | null; key: Buffer | null }) {
  return { ca, cert: cert ?? undefined, key: key ?? undefined };
}
