import { ChannelCredentials } from '@grpc/grpc-js';
import { once } from 'node:events';
import { connect as connectSocket, type Socket } from 'node:net';
import { inTime } from '../../base/time/deadline';
import { FRAME_TYPES, FrameReader, frameOf } from '../frames/frame-link';
import { metadataFromBytes, metadataToBytes } from './handshake-metadata';
import type { MemberHandshake, OpenSession } from './member-handshake';
import { greet, PROOF_GREETING } from '../frames/reads-greeting';

/** From the greeting until the member's proof is there: longer than a caller waits, as for the other greetings. */
const PROVEN_WITHIN_MS = 5_000;
/** How often in such a time a connection is made again because the one before it does not begin with a proof. */
const ANEW_MOST = 3;
const ANEW_IN_MS = 60_000;

type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>;

/**
 * Credentials of a channel without TLS to a member. Both ends prove themselves before HTTP/2 begins
 * (proof-acceptor.ts), so that the member may leave the connection to Node's HTTP/2 at once. Where that fails, HTTP/2
 * begins at once, and the handshake over it says what there is to say.
 */
export class ProofCredentials extends ChannelCredentials {
  /** Whether the last connection began with a proof. */
  private isProven = false;
  private readonly anewAtMs: number[] = [];
  private readonly inner = ChannelCredentials.createInsecure();

  constructor(
    private readonly parts: { handshake: MemberHandshake; withinMs?: number | undefined; nowMs?: () => number },
  ) {
    super();
  }

  /**
   * Whether the connection of a member that has proven itself is to be made again, with the proof first: something went
   * wrong on the way to this one. Where that is so again and again, it stays as it is, for a while.
   */
  isBetterAnew(): boolean {
    if (this.isProven) return false;
    const nowMs = (this.parts.nowMs ?? (() => performance.now()))();
    if (this.anewAtMs.length === ANEW_MOST && nowMs - this.anewAtMs[0] < ANEW_IN_MS) return false;
    this.anewAtMs.push(nowMs);
    if (this.anewAtMs.length > ANEW_MOST) this.anewAtMs.shift();
    return true;
  }

  _isSecure(): boolean {
    return false;
  }

  _equals(other: ChannelCredentials): boolean {
    return other === this;
  }

  _createSecureConnector(...args: Parameters<ChannelCredentials['_createSecureConnector']>): SecureConnector {
    const connector = this.inner._createSecureConnector(...args);
    return {
      // grpc-js closes the connection when this fails, and has no time of its own for it.
      connect: async (socket) => {
        this.isProven = false;
        return connector.connect(await this.proven(socket));
      },
      waitForReady: () => connector.waitForReady(),
      getCallCredentials: () => connector.getCallCredentials(),
      destroy: () => connector.destroy(),
    };
  }

  /** Another connection to the same place, where the other end does not take this one. */
  private async proven(socket: Socket): Promise<Socket> {
    const { remoteAddress: host, remotePort: port } = socket;
    const { handshake, withinMs = PROVEN_WITHIN_MS } = this.parts;
    let isLate = false;
    try {
      await inTime(prove(socket, handshake), withinMs, () => {
        isLate = true;
        return new Error('the member did not prove itself in time');
      });
      this.isProven = true;
      return socket;
    } catch (error) {
      socket.destroy();
      if (isLate || host === undefined || port === undefined) throw error;
      return connected(host, port, withinMs);
    }
  }
}

/**
 * Resolves when the other end has proven itself, and is sent the proof of this one. Rejects when it says anything else,
 * or ends.
 */
async function prove(socket: Socket, handshake: MemberHandshake): Promise<void> {
  const { clientNonce, metadata } = handshake.hello();
  await greet(socket, Buffer.concat([PROOF_GREETING, frameOf(FRAME_TYPES.hello, metadataToBytes(metadata))]));
  const session = await sessionFrom(socket, (bytes) => {
    const outcome = handshake.outcomeOf(metadataFromBytes(bytes), clientNonce);
    if ('key' in outcome) return outcome;
    throw new Error(outcome.reason);
  });
  socket.write(frameOf(FRAME_TYPES.stream, metadataToBytes(handshake.metadataForConnection(session))));
}

/** What the member's greeting makes. The connection is paused then; nothing may follow before the proof. */
function sessionFrom(socket: Socket, outcomeOf: (bytes: Buffer) => OpenSession): Promise<OpenSession> {
  return new Promise((done, fail) => {
    let session: OpenSession | null = null;
    const reader = new FrameReader((type, bytes) => {
      if (session !== null || type !== FRAME_TYPES.greeting)
        throw new Error(`a frame of type ${type}, which has no place here`);
      session = outcomeOf(bytes);
      reader.end();
    });
    const settle = (outcome: OpenSession | Error): void => {
      socket.off('data', hear);
      socket.off('close', lost);
      socket.off('error', lost);
      socket.pause();
      if (outcome instanceof Error) fail(outcome);
      else done(outcome);
    };
    const lost = (): void => settle(new Error('the connection ended before the member had proven itself'));
    const hear = (chunk: Buffer): void => {
      try {
        const rest = reader.take(chunk);
        if (rest.length > 0) throw new Error('more than the proof came');
      } catch (error) {
        return settle(error as Error);
      }
      if (session !== null) settle(session);
    };
    socket.on('data', hear);
    socket.on('close', lost);
    socket.on('error', lost);
    socket.resume();
  });
}

/** Rejects when nobody takes the connection in time. */
async function connected(host: string, port: number, withinMs: number): Promise<Socket> {
  const socket = connectSocket({ host, port, noDelay: true });
  try {
    await inTime(once(socket, 'connect'), withinMs, () => new Error('nobody took the connection in time'));
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}
