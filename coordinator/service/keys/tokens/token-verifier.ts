import { hash } from 'node:crypto';
import type { JWTVerifyGetKey, JWTVerifyOptions } from 'jose' with { 'resolution-mode': 'import' };
import { LRUCache } from 'lru-cache';
import type { TokenSettings } from '../../../../shared/base/config/token-settings';
import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../../shared/base/time/clock';
import type { Caller } from '../caller';
import type { PublicKey } from './issuer-keys';
import { callerOf, type Claims } from './token-claims';

/** Tokens with the groups of their subject have some kilobytes; headers altogether may have 32. */
const TOKEN_CHARACTERS_MAX = 16 * 1024;
/** Tokens in use whose signature need not be checked again: some megabytes. */
const CACHED_MAX = 4_096;
/** Tokens that wait for the issuer's keys at the same time. */
const WAITING_MAX = 256;
const TOLERANT_MS_PER_SECOND = 1_000;
/** Seconds since 1970 that a date can have; JSON also has numbers that are beyond all of them, such as 1e999. */
const DATE_SECONDS_MAX = 8.64e12;
const TIME_CLAIMS = ['exp', 'nbf', 'iat'];

/** Takes bearer tokens. */
export interface Tokens {
  /**
   * Whom the token speaks for. Errors: unauthenticated, forbidden; unavailable while no key of the issuer is known;
   * overloaded.
   */
  authenticate(token: string): Promise<Caller>;
}

interface Cached {
  caller: Caller;
  /** Wall time until which it is valid. */
  endMs: number;
}

type Jose = typeof import('jose', { with: { 'resolution-mode': 'import' } });

/**
 * Checks bearer tokens against the issuer's public keys, on the thread that serves the request. A token that was found
 * valid is known by its hash until it ends or the keys change.
 */
export class TokenVerifier implements Tokens {
  private readonly cached = new LRUCache<string, Cached>({ max: CACHED_MAX });
  private jose: Jose | null = null;
  private keys: readonly PublicKey[] | null = null;
  private keyOf: JWTVerifyGetKey | null = null;
  private waiting = 0;
  /** Changes with the keys: what was checked with others is not kept. */
  private generation = 0;

  /**
   * `refresh` asks for the issuer's keys to be read again; when it resolves, {@link useKeys} was called if they
   * changed.
   */
  constructor(
    private readonly parts: { settings: TokenSettings; clock: Pick<Clock, 'wallMs'>; refresh: () => Promise<void> },
  ) {}

  useKeys(keys: readonly PublicKey[]): void {
    this.keys = keys;
    this.keyOf = null;
    this.generation += 1;
    // A key that is gone may have been stolen.
    this.cached.clear();
  }

  async authenticate(token: string): Promise<Caller> {
    if (token.length > TOKEN_CHARACTERS_MAX) throw refused(`it has more than ${TOKEN_CHARACTERS_MAX} characters`);
    const digest = hash('sha256', token, 'base64');
    const known = this.cached.get(digest);
    if (known !== undefined && this.parts.clock.wallMs() < known.endMs) return known.caller;
    const { generation } = this;
    const claims = await this.verified(token);
    const bad = TIME_CLAIMS.find((name) => claims[name] !== undefined && !isTime(claims[name]));
    if (bad !== undefined) throw refused(`its claim ${bad} is no time`);
    const caller = callerOf(claims, this.parts.settings);
    const endMs = ((claims.exp as number) + this.parts.settings.toleranceSeconds) * TOLERANT_MS_PER_SECOND;
    if (generation === this.generation) this.cached.set(digest, { caller, endMs });
    return caller;
  }

  private async verified(token: string): Promise<Claims> {
    this.jose ??= await import('jose');
    mustBeAllowed(headerOf(token, this.jose), this.parts.settings);
    if (this.keys === null) await this.refreshed();
    if (this.keys === null)
      throw new QuiverError(
        'unavailable',
        'bearer tokens can not be checked: the keys of their issuer could not be read yet; API keys work',
      );
    const { generation } = this;
    try {
      return await this.check(token, this.jose);
    } catch (error) {
      if (!isOf(error, 'ERR_JWKS_NO_MATCHING_KEY')) throw this.explained(error);
    }
    await this.refreshed();
    if (generation === this.generation) throw refused('it was signed with a key that its issuer does not show');
    try {
      return await this.check(token, this.jose);
    } catch (error) {
      throw this.explained(error);
    }
  }

  private async check(token: string, jose: Jose): Promise<Claims> {
    const { settings, clock } = this.parts;
    const keyOf = (this.keyOf ??= jose.createLocalJWKSet({ keys: this.keys as { kty: string }[] }));
    const options: JWTVerifyOptions = {
      issuer: settings.issuer,
      audience: [...settings.audiences],
      algorithms: [...settings.algorithms],
      clockTolerance: settings.toleranceSeconds,
      currentDate: new Date(clock.wallMs()),
      requiredClaims: ['exp'],
    };
    try {
      return (await jose.jwtVerify(token, keyOf, options)).payload;
    } catch (error) {
      if (!isOf(error, 'ERR_JWKS_MULTIPLE_MATCHING_KEYS')) throw error;
      // A token that does not name its key, or an issuer that names two alike.
      for await (const key of error as unknown as AsyncIterable<import('node:crypto').webcrypto.CryptoKey>) {
        try {
          return (await jose.jwtVerify(token, key, options)).payload;
        } catch (other) {
          if (!isOf(other, 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED')) throw other;
        }
      }
      throw refused('its signature is wrong');
    }
  }

  /** Errors: overloaded. */
  private async refreshed(): Promise<void> {
    if (this.waiting >= WAITING_MAX)
      throw new QuiverError('overloaded', 'too many bearer tokens wait for the keys of their issuer; try again');
    this.waiting += 1;
    try {
      await this.parts.refresh();
    } finally {
      this.waiting -= 1;
    }
  }

  /** What is wrong with a token, of which nothing is said that its bearer could not read in it. */
  private explained(error: unknown): unknown {
    const { code = '', claim, reason } = error as { code?: string; claim?: string; reason?: string };
    switch (code) {
      case 'ERR_JWT_EXPIRED':
        return refused('it has expired');
      case 'ERR_JWT_CLAIM_VALIDATION_FAILED':
        if (reason === 'missing') return refused(`it has no claim ${claim}`);
        if (claim === 'iss') return refused('it is of another issuer');
        if (claim === 'aud') return refused('it is for another audience');
        if (claim === 'nbf') return refused('it is not valid yet');
        return refused(`its claim ${claim} is not valid`);
      case 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED':
        return refused('its signature is wrong');
      case 'ERR_JWKS_NO_MATCHING_KEY':
        return refused('it was signed with a key that its issuer does not show');
      default:
        // Also a key of the issuer that can't be used: too short, or not of the curve that it names.
        return error instanceof QuiverError ? error : refused('it is malformed, or of a form that is not known here');
    }
  }
}

/**
 * Only what is signed counts of a header, and of that only the algorithm and the name of a key: never a key, or where
 * one is.
 */
function headerOf(token: string, jose: Jose): { alg?: unknown } {
  try {
    return jose.decodeProtectedHeader(token);
  } catch {
    throw refused('it is no signed JSON Web Token');
  }
}

function mustBeAllowed({ alg }: { alg?: unknown }, { algorithms }: TokenSettings): void {
  if (typeof alg !== 'string' || !algorithms.includes(alg))
    throw refused('the algorithm of its signature is not allowed');
}

function isTime(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) <= DATE_SECONDS_MAX;
}

function isOf(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && (error as { code?: unknown }).code === code;
}

function refused(reason: string): QuiverError {
  return new QuiverError('unauthenticated', `invalid bearer token: ${reason}`);
}
