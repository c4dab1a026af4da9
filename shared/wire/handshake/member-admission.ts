import { createHmac, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
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
  type Greeting,
  isConnectionProof,
  isStreamProof,
  type MemberProof,
  NONCE_BYTES,
} from '../../base/secret/member-proof';
import { bytesOf, CONNECTION_PATH, HANDSHAKE_VERSION, metadataOf, textOf } from './handshake-metadata';
import { StreamNumbers } from '../streams/stream-numbers';

/**
 * How long new streams may be opened after one handshake. Open streams are not cut. Clients renew the handshake well
 * before.
 */
const SESSION_MS = 3_600_000;
/** The same warning is logged at most this often. */
const WARN_AGAIN_MS = 10_000;

const TIME_BYTES = 8;
const MARK_BYTES = 16;

interface Session {
  key: KeyObject;
  numbers: StreamNumbers;
  endsMs: number;
}

interface Claim {
  greeting: Greeting;
  endsMs: number;
  proof: Buffer;
}

/** Why a call is refused: the answer to the caller, and the warning to log, if any. */
export interface Refusal {
  code: status;
  details: string;
  /** What the caller is told beside that. */
  metadata?: Metadata;
  /**
   * `isOurs`: two members differ in their secret or address, which operators must correct. Otherwise the caller may be
   * any stranger who reaches the port. `about`: what is logged once for a while, where the caller has a say in the
   * message.
   */
  warning?: { message: string; isOurs: boolean; about?: string };
}

const STRANGER: Refusal = {
  code: status.UNAUTHENTICATED,
  details: 'the cluster secret was not proven',
  warning: { message: 'a call was refused: who made it did not prove that it knows the cluster secret', isOurs: false },
};
const OVER: Refusal = { code: status.UNAUTHENTICATED, details: 'the session is over' };

/**
 * Admits calls of the cluster's members and refuses all others, before any handler runs.
 *
 * A server proves itself to anybody who says hello, but only for its own address: a proof that was fetched here is
 * worthless to somebody known by another address. The server keeps no state for a hello. What it has to recognise later
 * is in its nonce, authenticated with a key of this process. A session is kept from its first valid stream on, which
 * strangers can't open.
 */
export class MemberAdmission {
  private readonly proof: MemberProof;
  private readonly name: string;
  private readonly address: () => string;
  private readonly log: Logger;
  private readonly version: MemberVersion;
  private readonly nowMs: () => number;
  private readonly admitted: (peer: string) => void;
  private readonly markKey = randomBytes(32);
  private readonly sessions = new Map<string, Session>();
  private readonly warnedAtMs = new Map<string, number>();

  /**
   * `address`: the host:port by which other members know this one. `admitted`: told of whom a stream was admitted from.
   */
  constructor(parts: {
    proof: MemberProof;
    name: string;
    address: () => string;
    log: Logger;
    version?: MemberVersion;
    nowMs?: () => number;
    admitted?: (peer: string) => void;
  }) {
    this.proof = parts.proof;
    this.name = parts.name;
    this.address = parts.address;
    this.log = parts.log;
    this.version = parts.version ?? OWN_VERSION;
    this.nowMs = parts.nowMs ?? (() => performance.now());
    this.admitted = parts.admitted ?? (() => undefined);
  }

  /** Judges a hello of `peer`. null: `answer` was called with what is to be sent. */
  hello(metadata: Metadata, peer: string, answer: (metadata: Metadata) => void): Refusal | null {
    return this.warned(this.greet(metadata, answer), metadata, peer);
  }

  /** Judges what a stream of `peer` with this path begins with. null: it is admitted. */
  stream(metadata: Metadata, path: string, peer: string): Refusal | null {
    const refusal = this.warned(this.admit(metadata, path), metadata, peer);
    if (refusal === null) this.admitted(peer);
    return refusal;
  }

  /**
   * Judges the proof by which `peer` answers, on the same connection, the answer to its hello that had this nonce.
   * null: whatever follows comes from a member. Nothing is kept: nobody is given the nonce again.
   */
  connection(metadata: Metadata, serverNonce: Buffer, peer: string): Refusal | null {
    const refusal = this.warned(this.know(metadata, serverNonce), metadata, peer);
    if (refusal === null) this.admitted(peer);
    return refusal;
  }

  private warned(refusal: Refusal | null, metadata: Metadata, peer: string): Refusal | null {
    if (refusal?.warning !== undefined)
      this.warn(refusal.warning, { peer, member: textOf(metadata, 'name').slice(0, 64) });
    return refusal;
  }

  private greet(metadata: Metadata, answer: (metadata: Metadata) => void): Refusal | null {
    if (textOf(metadata, 'objection') !== '') {
      return {
        code: status.OK,
        details: '',
        warning: {
          message: 'a member does not take the proof of this one: CLUSTER_SECRET is not the same for both',
          isOurs: true,
        },
      };
    }
    if (textOf(metadata, 'version') !== HANDSHAKE_VERSION)
      return { code: status.FAILED_PRECONDITION, details: 'a handshake of another version' };
    const address = textOf(metadata, 'address');
    const clientNonce = bytesOf(metadata, 'nonce')[0];
    if (clientNonce?.length !== NONCE_BYTES)
      return { code: status.INVALID_ARGUMENT, details: 'a handshake without a nonce' };
    if (address !== this.address()) {
      return {
        code: status.FAILED_PRECONDITION,
        details: 'this member has another address',
        warning: {
          message: "a handshake was refused: it was meant for another address than this member's",
          isOurs: true,
        },
      };
    }
    const client = textOf(metadata, 'name');
    const tooFar = incompatibilityOf(this.version, versionFromText(textOf(metadata, 'program')), client.slice(0, 64));
    if (tooFar !== null)
      return {
        code: status.FAILED_PRECONDITION,
        details: tooFar,
        metadata: metadataOf({ name: this.name, program: versionToText(this.version) }),
        warning: { message: tooFar, isOurs: true, about: 'versions' },
      };
    const greeting = { client, server: this.name, address, clientNonce };
    const serverNonce = this.nonceFor(greeting);
    answer(
      metadataOf({
        name: this.name,
        nonce: serverNonce,
        proof: this.proof.ofServer({ ...greeting, serverNonce }),
        program: versionToText(this.version),
      }),
    );
    return null;
  }

  private admit(metadata: Metadata, path: string): Refusal | null {
    // No method has this name. A proof of a connection is told from that of a stream by its text as well.
    if (path === CONNECTION_PATH) return STRANGER;
    const claim = this.claimOf(metadata);
    if ('code' in claim) return claim;
    const { greeting, endsMs, proof } = claim;
    const stream = { number: Number(textOf(metadata, 'number')), path };
    const id = greeting.serverNonce.toString('latin1');
    const known = this.sessions.get(id);
    const key = (known === undefined ? this.proof.sessionsOf(greeting) : [known.key]).find((each) =>
      isStreamProof(proof, each, stream),
    );
    if (key === undefined) return STRANGER;
    const session = known ?? this.keep(id, { key, numbers: new StreamNumbers(), endsMs });
    return session.numbers.take(stream.number) ? null : OVER;
  }

  private know(metadata: Metadata, serverNonce: Buffer): Refusal | null {
    const claim = this.claimOf(metadata);
    if ('code' in claim) return claim;
    const { greeting, proof } = claim;
    if (!greeting.serverNonce.equals(serverNonce)) return OVER;
    return this.proof.sessionsOf(greeting).some((key) => isConnectionProof(proof, key)) ? null : STRANGER;
  }

  /** What a stream or a connection says that it has, for a session that was begun here and is not over. */
  private claimOf(metadata: Metadata): Refusal | Claim {
    const [serverNonce] = bytesOf(metadata, 'serverNonce');
    const [clientNonce] = bytesOf(metadata, 'nonce');
    const [proof] = bytesOf(metadata, 'proof');
    if (serverNonce === undefined || clientNonce === undefined || proof === undefined) return STRANGER;
    const greeting: Greeting = {
      client: textOf(metadata, 'name'),
      server: this.name,
      address: this.address(),
      clientNonce,
      serverNonce,
    };
    const endsMs = this.endOf(greeting);
    if (endsMs === null || endsMs < this.nowMs()) return OVER;
    return { greeting, endsMs, proof };
  }

  private keep(id: string, session: Session): Session {
    for (const [old, { endsMs }] of this.sessions) if (endsMs < this.nowMs()) this.sessions.delete(old);
    this.sessions.set(id, session);
    return session;
  }

  /** Random bytes, the end of the session, and a MAC over both and the rest of the greeting. */
  private nonceFor(greeting: Omit<Greeting, 'serverNonce'>): Buffer {
    const front = Buffer.alloc(NONCE_BYTES + TIME_BYTES);
    randomBytes(NONCE_BYTES).copy(front);
    front.writeDoubleBE(this.nowMs() + SESSION_MS, NONCE_BYTES);
    return Buffer.concat([front, this.markOf(front, greeting)]);
  }

  /** When the session ends for which this nonce was given out; null if it was not given out here. */
  private endOf(greeting: Greeting): number | null {
    const { serverNonce } = greeting;
    if (serverNonce.length !== NONCE_BYTES + TIME_BYTES + MARK_BYTES) return null;
    const front = serverNonce.subarray(0, NONCE_BYTES + TIME_BYTES);
    return timingSafeEqual(serverNonce.subarray(front.length), this.markOf(front, greeting))
      ? front.readDoubleBE(NONCE_BYTES)
      : null;
  }

  private markOf(front: Buffer, { client, address, clientNonce }: Omit<Greeting, 'serverNonce'>): Buffer {
    const text = JSON.stringify([client, address, clientNonce.toString('base64')]);
    return createHmac('sha256', this.markKey).update(front).update(text).digest().subarray(0, MARK_BYTES);
  }

  private warn(
    { message, isOurs, about = message }: NonNullable<Refusal['warning']>,
    fields: { peer: string; member: string },
  ): void {
    const lastMs = this.warnedAtMs.get(about);
    if (lastMs !== undefined && this.nowMs() - lastMs < WARN_AGAIN_MS) return;
    this.warnedAtMs.set(about, this.nowMs());
    if (isOurs) this.log.error(fields, message);
    else this.log.warn(fields, message);
  }
}
