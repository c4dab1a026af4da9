import { type KeyObject, randomBytes } from 'node:crypto';
import { type Client, connectivityState, type Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { Logger } from '../logs/logger';
import { incompatibilityOf, type MemberVersion, OWN_VERSION, versionFromText, versionToText } from '../process/member-version';
import { type Greeting, type MemberProof, NONCE_BYTES, streamProof } from '../secret/member-proof';
import { bytesOf, HANDSHAKE_VERSION, membersDefinition, metadataOf, textOf } from './handshake-metadata';

/** A handshake takes one round trip, plus connecting and TLS. A member that takes longer is asked again. */
const HANDSHAKE_TIMEOUT_MS = 5_000;
/** Half of what the server allows, so that a session is always renewed before it ends. */
const RENEW_AFTER_MS = 1_800_000;
/** That a member does not prove itself is logged at most this often, because it is tried again all the time. */
const LOG_AGAIN_MS = 10_000;

/** Why there is no session. */
export interface HandshakeFailure {
  /** The other side does not know the secret or does not admit this member, so trying again is useless. */
  isRefused: boolean;
  reason: string;
}

const CLOSED: HandshakeFailure = { isRefused: false, reason: 'the channel is closed' };

/** A session with a member that has proven itself. Streams to the member are opened with it. */
export interface OpenSession {
  readonly greeting: Greeting;
  readonly key: KeyObject;
  /** The version of the other side's program. */
  readonly version: MemberVersion;
  readonly madeAtMs: number;
  /** Number of streams opened in this session. */
  streams: number;
  /** Whether the other side has accepted a stream of this session. */
  isTaken: boolean;
}

/** The handshakes of one channel. Nothing is sent to a member before it has proven that it knows the cluster's secret. */
export class MemberSession {
  private readonly client: Client;
  private readonly address: string;
  private readonly name: string;
  private readonly proof: MemberProof;
  private readonly log: Logger;
  private readonly version: MemberVersion;
  private session: OpenSession | null = null;
  private underWay: Promise<OpenSession | HandshakeFailure> | null = null;
  private call: { cancel(): void } | null = null;
  private loggedAtMs = -Infinity;
  private isClosed = false;

  /** `address` is the address that `client` connects to. */
  constructor(parts: { client: Client; address: string; name: string; proof: MemberProof; log: Logger; version?: MemberVersion }) {
    this.client = parts.client;
    this.address = parts.address;
    this.name = parts.name;
    this.proof = parts.proof;
    this.log = parts.log;
    this.version = parts.version ?? OWN_VERSION;
  }

  /**
   * The session in force. Null if there is none, if it is due for renewal, or if its connection was lost: whoever
   * answers at the address now has proven nothing.
   */
  get current(): OpenSession | null {
    if (this.session === null || this.isClosed) return null;
    const isConnected = this.client.getChannel().getConnectivityState(false) === connectivityState.READY;
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
    session.streams += 1;
    const { clientNonce, serverNonce } = session.greeting;
    const number = session.streams;
    return metadataOf({ version: HANDSHAKE_VERSION, name: this.name, nonce: clientNonce, serverNonce, number: String(number), proof: streamProof(session.key, { number, path }) });
  }

  /** Cancels the handshake under way and starts no other. */
  close(): void {
    this.isClosed = true;
    const { call } = this;
    if (call !== null) setImmediate(() => call.cancel());
  }

  private async shake(): Promise<OpenSession | HandshakeFailure> {
    const clientNonce = randomBytes(NONCE_BYTES);
    const answer = await this.hello(metadataOf({ version: HANDSHAKE_VERSION, name: this.name, address: this.address, nonce: clientNonce, program: versionToText(this.version) }));
    if ('reason' in answer) return answer;
    const [serverNonce] = bytesOf(answer.metadata, 'nonce');
    const greeting: Greeting = { client: this.name, server: textOf(answer.metadata, 'name'), address: this.address, clientNonce, serverNonce: serverNonce ?? Buffer.alloc(0) };
    const key = serverNonce === undefined ? null : this.proof.sessionWith(greeting, bytesOf(answer.metadata, 'proof'));
    const tooFar = key === null ? null : this.incompatibilityWith(answer.metadata);
    if (tooFar !== null) return tooFar;
    const version = versionFromText(textOf(answer.metadata, 'program'));
    if (key !== null) return { greeting, key, version, madeAtMs: performance.now(), streams: 0, isTaken: false };
    this.logOften({ address: this.address, member: greeting.server }, 'the member does not prove that it knows the cluster secret: its CLUSTER_SECRET is another one, or it is no member');
    // So that the other side logs it too. It reveals nothing to a stranger.
    void this.hello(metadataOf({ version: HANDSHAKE_VERSION, name: this.name, objection: 'proof' }));
    return { isRefused: true, reason: 'the other side did not prove that it knows the cluster secret' };
  }

  private hello(metadata: Metadata): Promise<{ metadata: Metadata } | HandshakeFailure> {
    const { path, requestSerialize, responseDeserialize } = membersDefinition.Hello;
    // A closed client would throw.
    if (this.isClosed) return Promise.resolve(CLOSED);
    return new Promise((done) => {
      const call = this.client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata, { deadline: Date.now() + HANDSHAKE_TIMEOUT_MS });
      this.call = call;
      const settle = (outcome: { metadata: Metadata } | HandshakeFailure): void => {
        if (this.call === call) this.call = null;
        done(outcome);
      };
      call.on('metadata', (answer: Metadata) => settle({ metadata: answer }));
      // Without a reader of its data, the stream never emits `end`.
      call.on('data', () => undefined);
      call.on('end', () => settle({ isRefused: false, reason: 'the other side ended the handshake' }));
      call.on('error', (error: ServiceError) => settle(this.failureOf(error)));
      call.end();
    });
  }

  /** Not a refusal for good: the other side may be replaced by another version at any time. */
  private incompatibilityWith(answer: Metadata): HandshakeFailure | null {
    const reason = incompatibilityOf(this.version, versionFromText(textOf(answer, 'program')), textOf(answer, 'name'));
    if (reason !== null) this.logOften({ address: this.address }, reason);
    return reason === null ? null : { isRefused: false, reason };
  }

  private failureOf(error: ServiceError): HandshakeFailure {
    if (error.code === status.FAILED_PRECONDITION) {
      // A member that refuses because of versions says its own. Who says none refuses because of something else.
      const tooFar = textOf(error.metadata, 'program') === '' ? null : this.incompatibilityWith(error.metadata);
      return tooFar ?? { isRefused: false, reason: error.message };
    }
    const isOfAnotherVersion = error.code === status.UNIMPLEMENTED || error.code === status.UNAUTHENTICATED;
    if (isOfAnotherVersion) this.logOften({ address: this.address, reason: error.message }, 'the member knows no handshake: it is of an earlier version, or no member');
    return { isRefused: isOfAnotherVersion || error.code === status.PERMISSION_DENIED, reason: error.message };
  }

  private logOften(fields: Record<string, string>, message: string): void {
    if (performance.now() - this.loggedAtMs < LOG_AGAIN_MS) return;
    this.loggedAtMs = performance.now();
    this.log.error(fields, message);
  }
}
