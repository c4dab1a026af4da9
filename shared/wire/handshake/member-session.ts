import { type Client, connectivityState, type Metadata, type ServiceError } from '@grpc/grpc-js';
import { membersDefinition } from './handshake-metadata';
import type { HandshakeFailure, MemberHandshake, OpenSession } from './member-handshake';

export type { HandshakeFailure, OpenSession } from './member-handshake';

/** A handshake takes one round trip, plus connecting and TLS. A member that takes longer is asked again. */
const HANDSHAKE_TIMEOUT_MS = 5_000;
/** Half of what the server allows, so that a session is always renewed before it ends. */
const RENEW_AFTER_MS = 1_800_000;

const CLOSED: HandshakeFailure = { isRefused: false, reason: 'the channel is closed' };

/**
 * The connection of one channel and its handshakes. Nothing is sent to a member before it has proven that it knows the
 * cluster's secret.
 */
export class MemberSession {
  private readonly handshake: MemberHandshake;
  private readonly connect: () => Client;
  private readonly isBetterAnew: () => boolean;
  private client: Client;
  private session: OpenSession | null = null;
  private underWay: Promise<OpenSession | HandshakeFailure> | null = null;
  private call: { cancel(): void } | null = null;
  private isClosed = false;
  /** A stream was opened on the connection, and may still be. */
  private isUsed = false;

  /**
   * `connect` answers what connects to the address of `handshake`. `isBetterAnew`: whether it is to do so again, in the
   * place of a connection without streams over which a member has just proven itself. It bounds how often. Absent:
   * never.
   */
  constructor(parts: { handshake: MemberHandshake; connect: () => Client; isBetterAnew?: () => boolean }) {
    this.handshake = parts.handshake;
    this.connect = parts.connect;
    this.isBetterAnew = parts.isBetterAnew ?? (() => false);
    this.client = parts.connect();
  }

  /** What streams are opened with in the session in force. */
  get connection(): Client {
    return this.client;
  }

  /**
   * The session in force. Null if there is none, if it is due for renewal, or if its connection was lost: whoever
   * answers at the address now has proven nothing.
   */
  get current(): OpenSession | null {
    if (this.isClosed) return null;
    const isConnected = this.client.getChannel().getConnectivityState(false) === connectivityState.READY;
    if (!isConnected) this.isUsed = false;
    if (this.session === null) return null;
    if (!isConnected || performance.now() - this.session.madeAtMs > RENEW_AFTER_MS) this.session = null;
    return this.session;
  }

  /** Makes a session. Calls during a handshake share it. Never rejects. */
  make(): Promise<OpenSession | HandshakeFailure> {
    this.underWay ??= this.shake().then((outcome) => {
      this.underWay = null;
      if (this.isClosed) return CLOSED;
      if ('key' in outcome) this.session = outcome;
      return outcome;
    });
    return this.underWay;
  }

  /** Drops a session that the other side may no longer know. */
  forget(session: OpenSession): void {
    if (this.session === session) this.session = null;
  }

  /** Metadata for the next stream of a session. */
  metadataFor(session: OpenSession, path: string): Metadata {
    this.isUsed = true;
    return this.handshake.metadataFor(session, path);
  }

  /**
   * Cancels the handshake under way and starts no other. Closes the connection: all streams must have ended or been
   * cancelled.
   */
  close(): void {
    this.isClosed = true;
    const { call } = this;
    if (call !== null) setImmediate(() => call.cancel());
    this.client.close();
  }

  private async shake(): Promise<OpenSession | HandshakeFailure> {
    let outcome = await this.shakeHere();
    while ('key' in outcome && !this.isClosed && !this.isUsed && this.isBetterAnew()) {
      const { client } = this;
      this.client = this.connect();
      // Not while HTTP/2 reads from it.
      setImmediate(() => client.close());
      outcome = await this.shakeHere();
    }
    return outcome;
  }

  private async shakeHere(): Promise<OpenSession | HandshakeFailure> {
    const { handshake } = this;
    const { clientNonce, metadata } = handshake.hello();
    const answer = await this.hello(metadata);
    if ('reason' in answer) return answer;
    const outcome = handshake.outcomeOf(answer.metadata, clientNonce);
    // So that the other side logs it too. It reveals nothing to a stranger.
    if ('isUnproven' in outcome) void this.hello(handshake.objection());
    return outcome;
  }

  private hello(metadata: Metadata): Promise<{ metadata: Metadata } | HandshakeFailure> {
    const { path, requestSerialize, responseDeserialize } = membersDefinition.Hello;
    // A closed client would throw.
    if (this.isClosed) return Promise.resolve(CLOSED);
    return new Promise((done) => {
      const call = this.client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata, {
        deadline: Date.now() + HANDSHAKE_TIMEOUT_MS,
      });
      this.call = call;
      const settle = (outcome: { metadata: Metadata } | HandshakeFailure): void => {
        if (this.call === call) this.call = null;
        done(outcome);
      };
      call.on('metadata', (answer: Metadata) => settle({ metadata: answer }));
      // Without a reader of its data, the stream never emits `end`.
      call.on('data', () => undefined);
      call.on('end', () => settle({ isRefused: false, reason: 'the other side ended the handshake' }));
      call.on('error', (error: ServiceError) => settle(this.handshake.failureOf(error)));
      call.end();
    });
  }
}
