import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

type Algorithm = 'RS256' | 'PS256' | 'ES256' | 'EdDSA';

interface IssuerKey {
  alg: Algorithm;
  privateKey: KeyObject;
  jwk: Record<string, unknown>;
}

/**
 * An issuer of tokens on this machine: discovery and keys over HTTP, and tokens that are really signed, by Node itself
 * and not by the library that checks them.
 */
export class TokenIssuer {
  readonly audience = 'quiver';
  /** Paths that were asked for, in order. */
  readonly asked: string[] = [];
  /** Names of the keys that it shows. */
  shown: string[] = [];
  /** What it answers instead: an HTTP status, or nothing at all. */
  mischief: number | 'silent' | null = null;
  private readonly keys = new Map<string, IssuerKey>();
  private server: Server | null = null;
  private port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async start(port = 0): Promise<this> {
    const server = createServer((request, response) => {
      const path = request.url ?? '';
      this.asked.push(path);
      if (this.mischief === 'silent') return;
      if (this.mischief !== null) return response.writeHead(this.mischief).end();
      if (path === '/.well-known/openid-configuration')
        return response.end(JSON.stringify({ issuer: this.url, jwks_uri: `${this.url}/keys` }));
      if (path === '/keys') return response.end(this.keySet);
      response.writeHead(404).end();
    });
    await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
    this.server = server;
    this.port = (server.address() as AddressInfo).port;
    return this;
  }

  async stop(): Promise<void> {
    const { server } = this;
    this.server = null;
    server?.closeAllConnections();
    if (server !== null) await new Promise<void>((done) => server.close(() => done()));
  }

  get keySet(): string {
    return JSON.stringify({ keys: this.shown.map((kid) => ({ ...this.keys.get(kid)?.jwk, kid })) });
  }

  /** Makes a key that it signs with, and shows it unless told otherwise. */
  addKey(kid: string, alg: Algorithm, isShown = true): void {
    const { publicKey, privateKey } = pairOf(alg);
    this.keys.set(kid, { alg, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), alg, use: 'sig' } });
    if (isShown) this.shown.push(kid);
  }

  /** The public key as PEM, with which a forger would sign as with a shared secret. */
  publicPem(kid: string): string {
    const { privateKey } = this.keys.get(kid) as IssuerKey;
    return pemOfPublic(privateKey);
  }

  /** A token for the audience, valid for five minutes, with these claims; undefined takes one away. */
  token(
    claims: Record<string, unknown> = {},
    options: { kid?: string; header?: Record<string, unknown> } = {},
  ): string {
    return this.signed(JSON.stringify(this.claimsWith(claims)), options);
  }

  /** A token with one claim as this JSON text, which `JSON.stringify` might not write: `1e999`. */
  tokenWithText(claim: string, text: string): string {
    return this.signed(JSON.stringify(this.claimsWith({ [claim]: '#' })).replace('"#"', text), {});
  }

  private signed(
    payload: string,
    { kid = this.shown[0], header = {} }: { kid?: string; header?: Record<string, unknown> },
  ): string {
    const { alg, privateKey } = this.keys.get(kid) as IssuerKey;
    const input = `${encoded({ alg, typ: 'JWT', kid, ...header })}.${Buffer.from(payload).toString('base64url')}`;
    return `${input}.${signature(alg, input, privateKey).toString('base64url')}`;
  }

  /** A token without a valid signature: as `none` has it, or by a shared secret. */
  forged(header: Record<string, unknown>, claims: Record<string, unknown> = {}, secret: string | null = null): string {
    const input = `${encoded({ typ: 'JWT', ...header })}.${encoded(this.claimsWith(claims))}`;
    return `${input}.${secret === null ? '' : createHmac('sha256', secret).update(input).digest('base64url')}`;
  }

  private claimsWith(claims: Record<string, unknown>): object {
    const seconds = Math.floor(Date.now() / 1_000);
    return {
      iss: this.url,
      aud: this.audience,
      sub: 'ada',
      iat: seconds,
      exp: seconds + 300,
      role: 'readonly',
      ...claims,
    };
  }
}

function pairOf(alg: Algorithm): { publicKey: KeyObject; privateKey: KeyObject } {
  if (alg === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' });
  if (alg === 'EdDSA') return generateKeyPairSync('ed25519');
  return generateKeyPairSync('rsa', { modulusLength: 2048 });
}

function signature(alg: Algorithm, input: string, key: KeyObject): Buffer {
  const bytes = Buffer.from(input);
  if (alg === 'EdDSA') return sign(null, bytes, key);
  if (alg === 'ES256') return sign('sha256', bytes, { key, dsaEncoding: 'ieee-p1363' });
  // 6: RSA_PKCS1_PSS_PADDING.
  return alg === 'PS256' ? sign('sha256', bytes, { key, padding: 6, saltLength: 32 }) : sign('sha256', bytes, key);
}

function pemOfPublic(privateKey: KeyObject): string {
  return String(createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }));
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
