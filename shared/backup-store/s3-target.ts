import { setTimeout as sleep } from 'node:timers/promises';
import { AwsClient } from 'aws4fetch';
import { isQuiverError, QuiverError } from '../base/errors/quiver-error';
import { RetryBackoff } from '../base/time/retry-backoff';
import type { BackupSeals } from './backup-seals';
import { type BackupObject, type BackupTarget, isObjectName } from './backup-target';
import { sha256Beside } from './backup-format';
import type { CredentialSource, S3Credentials } from './credential-source';
import { credentialSource, type GivenCredentials } from './s3-credentials';

/** How an S3-compatible store is reached. */
export interface S3Access extends GivenCredentials {
  /** Empty: that of AWS in the region. */
  endpoint: string;
  region: string;
  /** Whether the bucket is in the path, or in the name of the host. */
  isPathStyle: boolean;
  /** The header `x-amz-server-side-encryption`; empty: not sent. */
  encryption: string;
}

const ATTEMPTS_MAX = 6;
const PAUSES = { firstMs: 200, longestMs: 10_000 };
/** Of one attempt: an answer must begin within this, and what is sent or read has as long again for each 256 KiB. */
const ATTEMPT_MS = 15_000;
const PACE_BYTES = 256 * 1024;
/** Of an answer that holds no object so much is read: of a refusal, its code. */
const WORDS_BYTES_MAX = 64 * 1024;
/** Of a part of a list: a thousand names of a kilobyte, and what is around them. */
const LIST_BYTES_MAX = 8 * 1024 * 1024;
/** Of an answer that is read: no object is larger than some segments. */
const OBJECT_BYTES_MAX = 1024 * 1024 * 1024;
/** What passes with another attempt, whatever its status is: among them that two wrote the same object at once. */
const PASSING: ReadonlySet<string> = new Set([
  'RequestTimeout',
  'SlowDown',
  'ConditionalRequestConflict',
  'OperationAborted',
]);

/** Of a name that is shown because it is none. */
const NAME_LENGTH = 100;

interface S3Call {
  method: string;
  headers?: Record<string, string>;
  body?: Buffer;
  /** Of the answer. */
  bytesMax: number;
}

/** A store has answered that it does not do what it was asked for. */
class S3Refusal extends QuiverError {
  /** `status`: of HTTP; `s3Code`: the store's word for the reason, empty where it gave none. */
  constructor(
    kind: 'unavailable' | 'storage_failed',
    verb: string,
    readonly status: number,
    readonly s3Code: string,
  ) {
    super(kind, `the backup target refuses to ${verb} an object: ${status}${s3Code === '' ? '' : ` ${s3Code}`}`);
  }

  /** There is one by that name (304: as earlier versions of MinIO say it). */
  get isPresent(): boolean {
    return this.status === 412 || this.status === 304;
  }

  /** It knows no writes with a condition. */
  get isUnknown(): boolean {
    return this.status === 501 || this.s3Code === 'NotImplemented';
  }
}

/**
 * Backups in a bucket of an S3-compatible store, under a prefix. Objects are at most some 8 MiB, so each is one
 * request: a cut upload leaves nothing, and there are no parts to clean up. What may pass is tried again with rising
 * pauses.
 */
export class S3Target implements BackupTarget {
  /** Made for credentials, as long as they are those of now. */
  private client: { signer: AwsClient; of: S3Credentials } | null = null;
  private readonly credentials: CredentialSource;
  private readonly base: string;

  /** `name`: s3://bucket/prefix. `attemptMs`: {@link ATTEMPT_MS}. */
  constructor(
    readonly name: string,
    private readonly access: S3Access,
    readonly seals: BackupSeals,
    private readonly attemptMs = ATTEMPT_MS,
  ) {
    const [, bucket, prefix = ''] = /^s3:\/\/([^/]+)(?:\/(.*?))?\/?$/.exec(name)!;
    const endpoint = new URL(access.endpoint === '' ? `https://s3.${access.region}.amazonaws.com` : access.endpoint);
    if (!access.isPathStyle) endpoint.host = `${bucket}.${endpoint.host}`;
    const path = endpoint.pathname.replace(/\/$/, '');
    this.base = `${endpoint.origin}${path}${access.isPathStyle ? `/${bucket}` : ''}`;
    this.prefix = prefix === '' ? '' : `${prefix}/`;
    this.credentials = credentialSource(access, access.region);
  }

  private readonly prefix: string;

  put(key: string, bytes: Buffer): Promise<void> {
    return this.write(key, bytes, {});
  }

  /** By `If-None-Match: *`. A store that refuses the header is looked at first; one that passes over it overwrites. */
  async create(key: string, bytes: Buffer): Promise<boolean> {
    try {
      await this.write(key, bytes, { 'if-none-match': '*' });
      return true;
    } catch (error) {
      if (!(error instanceof S3Refusal)) throw error;
      if (error.isPresent) return false;
      if (!error.isUnknown) throw error;
    }
    if ((await this.get(key)) !== null) return false;
    await this.put(key, bytes);
    return true;
  }

  private async write(key: string, bytes: Buffer, condition: Record<string, string>): Promise<void> {
    const headers: Record<string, string> = {
      'x-amz-content-sha256': await sha256Beside(bytes),
      'content-type': 'application/octet-stream',
      ...condition,
    };
    if (this.access.encryption !== '') headers['x-amz-server-side-encryption'] = this.access.encryption;
    await this.persistently('write', this.addressOf(key), {
      method: 'PUT',
      headers,
      body: bytes,
      bytesMax: WORDS_BYTES_MAX,
    });
  }

  async get(key: string, bytesMax = OBJECT_BYTES_MAX): Promise<Buffer | null> {
    return this.persistently('read', this.addressOf(key), { method: 'GET', bytesMax });
  }

  async list(prefix: string, after = ''): Promise<BackupObject[]> {
    const found: BackupObject[] = [];
    for (let token = ''; ;) {
      const query = new URLSearchParams({
        'list-type': '2',
        'max-keys': '1000',
        prefix: this.prefix + prefix,
        ...(after !== '' && { 'start-after': this.prefix + after }),
        ...(token !== '' && { 'continuation-token': token }),
      });
      const answer = await this.persistently('list', `${this.base}/?${query.toString().replaceAll('+', '%20')}`, {
        method: 'GET',
        bytesMax: LIST_BYTES_MAX,
      });
      if (answer === null) throw new QuiverError('storage_failed', 'the bucket of the backup target does not exist');
      const text = answer.toString();
      // A page of something between is no empty list.
      if (!text.includes('<ListBucketResult'))
        throw new QuiverError('unavailable', 'the backup target answers what is no list of objects');
      for (const [, content] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
        const key = unescaped(/<Key>(.*?)<\/Key>/s.exec(content)?.[1] ?? '');
        // Not every store that speaks the protocol knows where to begin.
        const isWanted =
          key.startsWith(this.prefix) && key > this.prefix + after && isObjectName(key.slice(this.prefix.length));
        if (isWanted)
          found.push({
            key: key.slice(this.prefix.length),
            bytes: Number(/<Size>(\d+)<\/Size>/.exec(content)?.[1] ?? 0),
          });
      }
      const next = unescaped(/<NextContinuationToken>(.*?)<\/NextContinuationToken>/s.exec(text)?.[1] ?? '');
      if (!/<IsTruncated>true<\/IsTruncated>/.test(text) || next === '' || next === token) return found;
      token = next;
    }
  }

  async delete(key: string): Promise<void> {
    await this.persistently('remove', this.addressOf(key), { method: 'DELETE', bytesMax: WORDS_BYTES_MAX });
  }

  /** A name with `..` would lead out of the prefix, and of the bucket. Errors: storage_damaged. */
  private addressOf(key: string): string {
    if (!isObjectName(key))
      throw new QuiverError(
        'storage_damaged',
        `the backup is damaged: ${JSON.stringify(key.slice(0, NAME_LENGTH))} is no name of an object`,
      );
    return `${this.base}/${this.prefix}${key}`;
  }

  /** The body of the answer; null: there is no such thing. */
  private async persistently(verb: string, url: string, request: S3Call): Promise<Buffer | null> {
    const pauses = new RetryBackoff(PAUSES);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.attempt(verb, url, request);
      } catch (error) {
        const isLasting = isQuiverError(error) && error.kind !== 'unavailable';
        if (isLasting || attempt === ATTEMPTS_MAX) {
          throw isQuiverError(error)
            ? error
            : new QuiverError('unavailable', `the backup target can not be reached to ${verb} an object`, {
                cause: error,
              });
        }
        await sleep(pauses.nextMs());
      }
    }
  }

  /** `others`: credentials that took the place of refused ones. */
  private async attempt(verb: string, url: string, request: S3Call, others?: S3Credentials): Promise<Buffer | null> {
    const { method, headers, body, bytesMax } = request;
    const credentials = others ?? (await this.credentials.current());
    const signed = await this.signer(credentials).sign(url, {
      method,
      headers: headers ?? {},
      ...(body !== undefined && { body: new Uint8Array(body) }),
    });
    const cut = new AbortController();
    const timer = setTimeout(() => cut.abort(), this.attemptMs * (1 + Math.ceil((body?.length ?? 0) / PACE_BYTES)));
    const answer = await fetch(signed, { signal: cut.signal }).finally(() => clearTimeout(timer));
    if (answer.status === 404 && method === 'DELETE') {
      await answer.body?.cancel();
      return null;
    }
    if (answer.status === 404) {
      const text = await this.refusalOf(answer, cut);
      if (method === 'GET' && !text.includes('NoSuchBucket')) return null;
      throw new QuiverError('storage_failed', 'the bucket of the backup target does not exist');
    }
    if (answer.ok) {
      const length = Number(answer.headers.get('content-length') ?? 0);
      const content = length > bytesMax ? null : await this.read(answer, cut, bytesMax);
      if (content === null) {
        cut.abort();
        throw new QuiverError('storage_damaged', 'the backup is damaged: an object has more bytes than it may have');
      }
      // A connection that ends early may look like the end of the object.
      if (
        method === 'GET' &&
        answer.headers.has('content-length') &&
        answer.headers.get('content-encoding') === null &&
        content.length !== length
      )
        throw new Error('the answer was cut');
      return content;
    }
    const code = /<Code>(\w{1,64})<\/Code>/.exec(await this.refusalOf(answer, cut))?.[1] ?? '';
    // There may be new ones by now.
    if (
      others === undefined &&
      (answer.status === 401 || answer.status === 403 || /^(?:ExpiredToken|TokenRefreshRequired)$/.test(code))
    ) {
      const renewed = await this.credentials.renewed();
      if (renewed !== credentials) return this.attempt(verb, url, request, renewed);
    }
    const may =
      (answer.status >= 500 && answer.status !== 501) ||
      answer.status === 429 ||
      answer.status === 408 ||
      PASSING.has(code);
    const isFull = answer.status === 507 || /Quota|StorageFull|InsufficientStorage/i.test(code);
    throw new S3Refusal(may && !isFull ? 'unavailable' : 'storage_failed', verb, answer.status, code);
  }

  /** The content of an answer; null: it has more bytes. Fails when it stops coming, or comes too slowly. */
  private async read(answer: Response, cut: AbortController, bytesMax: number): Promise<Buffer | null> {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    let pacedBytes = 0;
    const timer = setTimeout(() => cut.abort(), this.attemptMs);
    try {
      for await (const piece of answer.body ?? []) {
        bytes += piece.length;
        if (bytes > bytesMax) return null;
        pieces.push(piece);
        if (bytes - pacedBytes < PACE_BYTES) continue;
        pacedBytes = bytes;
        timer.refresh();
      }
    } finally {
      clearTimeout(timer);
    }
    return Buffer.concat(pieces);
  }

  /** What a store says to a refusal; '' when that is too long. */
  private async refusalOf(answer: Response, cut: AbortController): Promise<string> {
    return (await this.read(answer, cut, WORDS_BYTES_MAX))?.toString() ?? '';
  }

  private signer(credentials: S3Credentials): AwsClient {
    if (this.client?.of === credentials) return this.client.signer;
    const { accessKeyId, secretAccessKey, sessionToken } = credentials;
    const signer = new AwsClient({
      accessKeyId,
      secretAccessKey,
      ...(sessionToken !== undefined && { sessionToken }),
      service: 's3',
      region: this.access.region,
      retries: 0,
    });
    this.client = { signer, of: credentials };
    return signer;
  }
}

function unescaped(text: string): string {
  return text.replace(
    /&(?:lt|gt|quot|apos|#39|amp);/g,
    (entity) => ({ '&lt;': '<', '&gt;': '>', '&quot;': '"', '&apos;': "'", '&#39;': "'", '&amp;': '&' })[entity]!,
  );
}
