import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { derivedKey } from './derived-key';

/** Bytes of a nonce: two of 128 random bits never meet. */
export const NONCE_BYTES = 16;

/** What both sides of a handshake have seen of each other; all of it goes into every proof. */
export interface Greeting {
  /** Names of the members, as they give them. */
  client: string;
  server: string;
  /** host:port that the client dialled and by which the server is known: a proof made for one address is none for another. */
  address: string;
  /** Random, of the client: the server's proof is no earlier one. */
  clientNonce: Buffer;
  /** Random, of the server, with what it wants to find in it again: the client's proofs are no earlier ones. */
  serverNonce: Buffer;
}

/**
 * Proofs by which two members show each other that they know the cluster's secret, without sending it: HMAC-SHA256 over
 * the greeting under a derived key. The server proves itself first; the client then proves itself with each stream that
 * it opens, under the session's key, which follows from the secret and the greeting and never travels.
 */
export class MemberProof {
  /** Of the present secret, then of the other one. */
  private readonly keys: readonly KeyObject[];

  constructor(secrets: { secret: string; otherSecret?: string }) {
    const { secret, otherSecret } = secrets;
    this.keys = [secret, ...(otherSecret === undefined ? [] : [otherSecret])].map((each) => derivedKey(each, 'members prove themselves to each other, 1'));
  }

  /** The server's proofs, one by each secret that it accepts. */
  ofServer(greeting: Greeting): Buffer[] {
    return this.keys.map((key) => mac(key, 'server', greeting));
  }

  /** The key of a session with a server that gave these proofs; null when none is good. */
  sessionWith(greeting: Greeting, proofs: readonly Buffer[]): KeyObject | null {
    const key = this.keys.find((each) => proofs.some((proof) => isEqual(proof, mac(each, 'server', greeting))));
    return key === undefined ? null : sessionKey(key, greeting);
  }

  /** The keys that a session of this greeting may have, as the server sees it. */
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

function sessionKey(key: KeyObject, greeting: Greeting): KeyObject {
  return createSecretKey(mac(key, 'session', greeting));
}

/** Each field with its length in front, so that no two greetings make the same bytes. */
function mac(key: KeyObject, purpose: 'server' | 'session', greeting: Greeting): Buffer {
  const hmac = createHmac('sha256', key);
  for (const field of [purpose, greeting.client, greeting.server, greeting.address, greeting.clientNonce, greeting.serverNonce]) {
    const bytes = Buffer.from(field as string);
    hmac.update(`${bytes.length} `).update(bytes);
  }
  return hmac.digest();
}

function isEqual(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}
