import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { derivedKey } from './derived-key';

/** Bytes of a nonce: 128 random bits practically never repeat. */
export const NONCE_BYTES = 16;

/** What both sides of a handshake have seen of each other. All of it goes into every proof. */
export interface Greeting {
  /** The names that the members give themselves. */
  client: string;
  server: string;
  /**
   * The host:port that the client connected to, by which the server is known. A proof for one address is invalid for
   * another.
   */
  address: string;
  /** Chosen at random by the client, so that the server can't replay an earlier proof. */
  clientNonce: Buffer;
  /** Chosen at random by the server, plus data that it wants back, so that the client can't replay an earlier proof. */
  serverNonce: Buffer;
}

/**
 * Proofs by which two members show each other that they know the cluster's secret, without sending it: HMAC-SHA256 over
 * the greeting under a derived key. The server proves itself first. The client then proves itself with each stream that
 * it opens, or once with the whole connection, under the key of the session. That key is derived from the secret and
 * the greeting, and is never sent.
 */
export class MemberProof {
  /** The key of the present secret, then that of the other one. */
  private readonly keys: readonly KeyObject[];

  constructor(secrets: { secret: string; otherSecret?: string }) {
    const { secret, otherSecret } = secrets;
    this.keys = [secret, ...(otherSecret === undefined ? [] : [otherSecret])].map((each) =>
      derivedKey(each, 'members prove themselves to each other, 1'),
    );
  }

  /** The server's proofs, one for each secret that it accepts. */
  ofServer(greeting: Greeting): Buffer[] {
    return this.keys.map((key) => mac(key, 'server', greeting));
  }

  /** The key of a session with a server that sent these proofs; null if no proof is valid. */
  sessionWith(greeting: Greeting, proofs: readonly Buffer[]): KeyObject | null {
    const key = this.keys.find((each) => proofs.some((proof) => isEqual(proof, mac(each, 'server', greeting))));
    return key === undefined ? null : sessionKey(key, greeting);
  }

  /** The keys that a session with this greeting may have, from the server's side. */
  sessionsOf(greeting: Greeting): KeyObject[] {
    return this.keys.map((key) => sessionKey(key, greeting));
  }
}

/** The client's proof for one stream of a session: its number in the session and the method that it calls. */
export function streamProof(session: KeyObject, stream: { number: number; path: string }): Buffer {
  return createHmac('sha256', session).update(`stream ${stream.number} ${stream.path}`).digest();
}

export function isStreamProof(proof: Buffer, session: KeyObject, stream: { number: number; path: string }): boolean {
  return isEqual(proof, streamProof(session, stream));
}

/**
 * The client's proof for the whole connection on which the greeting of the session came. Its text is that of no stream,
 * whatever its number and path: neither proof is ever good for the other.
 */
export function connectionProof(session: KeyObject): Buffer {
  return createHmac('sha256', session).update('connection').digest();
}

export function isConnectionProof(proof: Buffer, session: KeyObject): boolean {
  return isEqual(proof, connectionProof(session));
}

function sessionKey(key: KeyObject, greeting: Greeting): KeyObject {
  return createSecretKey(mac(key, 'session', greeting));
}

/** Each field is preceded by its length, so that no two greetings give the same bytes. */
function mac(key: KeyObject, purpose: 'server' | 'session', greeting: Greeting): Buffer {
  const hmac = createHmac('sha256', key);
  for (const field of [
    purpose,
    greeting.client,
    greeting.server,
    greeting.address,
    greeting.clientNonce,
    greeting.serverNonce,
  ]) {
    const bytes = Buffer.from(field as string);
    hmac.update(`${bytes.length} `).update(bytes);
  }
  return hmac.digest();
}

function isEqual(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}
