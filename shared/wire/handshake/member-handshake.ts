import { type KeyObject, randomBytes } from 'node:crypto';
import { type Metadata, status } from '@grpc/grpc-js';
import type { Logger } from '../../base/logs/logger';
import {
  incompatibilityOf,
  type MemberVersion,
  OWN_VERSION,
  versionFromText,
  versionToText,
} from '../../base/process/member-version';
import {
  connectionProof,
  type Greeting,
  type MemberProof,
  NONCE_BYTES,
  streamProof,
} from '../../base/secret/member-proof';
import { bytesOf, HANDSHAKE_VERSION, metadataOf, textOf } from './handshake-metadata';

/** That a member does not prove itself is logged at most this often, because it is tried again all the time. */
const LOG_AGAIN_MS = 10_000;

/** Why there is no session. */
export interface HandshakeFailure {
  /** The other side does not know the secret or does not admit this member, so trying again is useless. */
  isRefused: boolean;
  reason: string;
}

/** The other side did not prove itself: it is to be sent an objection. */
export interface Unproven extends HandshakeFailure {
  isUnproven: true;
}

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

/** How a server refuses: as gRPC says it. */
export interface HandshakeError {
  code: status;
  message: string;
  metadata: Metadata;
}

/**
 * The client's side of handshakes with one address: what it sends, and what follows from what it hears. How that is
 * sent is another's.
 */
export class MemberHandshake {
  private readonly address: string;
  private readonly name: string;
  private readonly proof: MemberProof;
  private readonly log: Logger;
  private readonly version: MemberVersion;
  private loggedAtMs = -Infinity;

  /** `address` is the address that is dialled. */
  constructor(parts: { address: string; name: string; proof: MemberProof; log: Logger; version?: MemberVersion }) {
    this.address = parts.address;
    this.name = parts.name;
    this.proof = parts.proof;
    this.log = parts.log;
    this.version = parts.version ?? OWN_VERSION;
  }

  hello(): { clientNonce: Buffer; metadata: Metadata } {
    const clientNonce = randomBytes(NONCE_BYTES);
    return {
      clientNonce,
      metadata: metadataOf({
        version: HANDSHAKE_VERSION,
        name: this.name,
        address: this.address,
        nonce: clientNonce,
        program: versionToText(this.version),
      }),
    };
  }

  objection(): Metadata {
    return metadataOf({ version: HANDSHAKE_VERSION, name: this.name, objection: 'proof' });
  }

  /** What the answer to a hello with this nonce makes. */
  outcomeOf(answer: Metadata, clientNonce: Buffer): OpenSession | HandshakeFailure | Unproven {
    const [serverNonce] = bytesOf(answer, 'nonce');
    const greeting: Greeting = {
      client: this.name,
      server: textOf(answer, 'name'),
      address: this.address,
      clientNonce,
      serverNonce: serverNonce ?? Buffer.alloc(0),
    };
    const key = serverNonce === undefined ? null : this.proof.sessionWith(greeting, bytesOf(answer, 'proof'));
    const tooFar = key === null ? null : this.incompatibilityWith(answer);
    if (tooFar !== null) return tooFar;
    const version = versionFromText(textOf(answer, 'program'));
    if (key !== null) return { greeting, key, version, madeAtMs: performance.now(), streams: 0, isTaken: false };
    this.logOften(
      { address: this.address, member: greeting.server },
      'the member does not prove that it knows the cluster secret: its CLUSTER_SECRET is another one, or it is no member',
    );
    return {
      isRefused: true,
      isUnproven: true,
      reason: 'the other side did not prove that it knows the cluster secret',
    };
  }

  /** Metadata for the next stream of a session. */
  metadataFor(session: OpenSession, path: string): Metadata {
    session.streams += 1;
    const { clientNonce, serverNonce } = session.greeting;
    const number = session.streams;
    return metadataOf({
      version: HANDSHAKE_VERSION,
      name: this.name,
      nonce: clientNonce,
      serverNonce,
      number: String(number),
      proof: streamProof(session.key, { number, path }),
    });
  }

  /** Metadata that proves this side for the connection on which the greeting of the session came. */
  metadataForConnection(session: OpenSession): Metadata {
    const { clientNonce, serverNonce } = session.greeting;
    return metadataOf({
      version: HANDSHAKE_VERSION,
      name: this.name,
      nonce: clientNonce,
      serverNonce,
      proof: connectionProof(session.key),
    });
  }

  failureOf(error: HandshakeError): HandshakeFailure {
    if (error.code === status.FAILED_PRECONDITION) {
      // A member that refuses because of versions says its own. Who says none refuses because of something else.
      const tooFar = textOf(error.metadata, 'program') === '' ? null : this.incompatibilityWith(error.metadata);
      return tooFar ?? { isRefused: false, reason: error.message };
    }
    const isOfAnotherVersion = error.code === status.UNIMPLEMENTED || error.code === status.UNAUTHENTICATED;
    if (isOfAnotherVersion)
      this.logOften(
        { address: this.address, reason: error.message },
        'the member knows no handshake: it is of an earlier version, or no member',
      );
    return { isRefused: isOfAnotherVersion || error.code === status.PERMISSION_DENIED, reason: error.message };
  }

  /** Not a refusal for good: the other side may be replaced by another version at any time. */
  private incompatibilityWith(answer: Metadata): HandshakeFailure | null {
    const reason = incompatibilityOf(this.version, versionFromText(textOf(answer, 'program')), textOf(answer, 'name'));
    if (reason !== null) this.logOften({ address: this.address }, reason);
    return reason === null ? null : { isRefused: false, reason };
  }

  private logOften(fields: Record<string, string>, message: string): void {
    if (performance.now() - this.loggedAtMs < LOG_AGAIN_MS) return;
    this.loggedAtMs = performance.now();
    this.log.error(fields, message);
  }
}
