import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../shared/base/time/clock';
import { doneOnce } from '../../service/idempotency/stored-outcomes';
import { openText } from '../../../shared/base/secret/sealed-text';
import { dedupKeyOf, sealingKeyOf } from '../../service/idempotency/sealing-keys';
import type { OutcomesService, StoreDedup } from '../../service/idempotency/store-dedup';
import { KEPT_MS, type Once } from '../../service/idempotency/write-dedup';
import { type Caller, identityOf } from '../../service/keys/caller';
import type { IssuedSecret } from '../../service/keys/keys-service';

/** What a request may carry to be done once, whatever becomes of its answer. In lower case, as Node has it. */
export const IDEMPOTENCY_HEADER = 'idempotency-key';
export const REPLAYED_HEADER = 'idempotency-replayed';
export const IDEMPOTENCY_KEY_LENGTH_MAX = 255;

const PRINTABLE = new RegExp(`^[\\x20-\\x7e]{1,${IDEMPOTENCY_KEY_LENGTH_MAX}}$`);
/** 128 bits, hexadecimal. */
const HASH_LENGTH = 32;

/** How a handler does its work once, where the request asks for it. */
export interface HandlerOnce {
  /** For writes to shards; undefined: the request has no key. */
  once: Once | undefined;
  /**
   * For what is done in the cluster store: the use case gets the mark, and takes it into its transaction. `known`: of a
   * body that was read on its way, what it holds.
   */
  inStore<Result>(run: (dedup: StoreDedup | undefined) => Promise<Result>, known?: string): Promise<Result>;
  /**
   * For a body that is read on its way: the mark of what is known of it before, and what says that it was stored
   * already.
   */
  streamed(known: string): { dedup: StoreDedup; repeated: () => void } | undefined;
  /**
   * The secret that a use case issued, now or for the request before. Errors: conflict, when it can't be shown again.
   */
  shown(issued: IssuedSecret): string;
}

export const NOT_ONCE: HandlerOnce = {
  once: undefined,
  inStore: (run) => run(undefined),
  streamed: () => undefined,
  shown: (issued) => issued.key ?? '',
};

/** A request with an Idempotency-Key. */
export class RequestOnce implements HandlerOnce {
  private readonly body = createHash('sha256');
  private digest = '';

  constructor(
    private readonly parts: {
      key: string;
      caller: Pick<Caller, 'id' | 'token'>;
      request: Pick<IncomingMessage, 'headers' | 'method' | 'url'>;
      outcomes: OutcomesService;
      clock: Pick<Clock, 'wallMs'>;
      repeated: () => void;
      /** The collection that the request calls by an alias; null: none. Asked when it is known. */
      aliased?: () => string | null;
    },
  ) {}

  /** null: the request has no key. Errors: invalid_parameter for one that is none. */
  static keyOf({ headers }: Pick<IncomingMessage, 'headers'>): string | null {
    const key = headers[IDEMPOTENCY_HEADER];
    return key === undefined ? null : RequestOnce.checked(key);
  }

  /** Errors: invalid_parameter for what is no key. */
  static checked(key: unknown): string {
    if (typeof key === 'string' && PRINTABLE.test(key) && key.trim() !== '') return key;
    throw new QuiverError(
      'invalid_parameter',
      `the Idempotency-Key must have 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters, not only blanks; a random UUID is a good one`,
    );
  }

  /** What the request holds besides its path. */
  add(bytes: Uint8Array | string): void {
    this.body.update(bytes);
  }

  /** All of it was added. `what`: that which is asked for, where the request's own line does not say it. */
  end(what: { method?: string | undefined; url?: string | undefined } = this.parts.request): void {
    const { method = '', url = '' } = what;
    this.digest = hashOf('quiver request 1', method, url, this.body.digest('hex'));
  }

  get once(): Once {
    const { caller, key, repeated } = this.parts;
    // By the id of a key, which stays when it is rotated, and the subject of a token.
    const identity = identityOf(caller);
    return {
      token: hashOf('quiver idempotency 1', identity, key),
      digest: this.digest,
      // Few requests need it.
      get sealingKey() {
        return dedupKeyOf(identity, key);
      },
      repeated,
    };
  }

  inStore<Result>(run: (dedup: StoreDedup | undefined) => Promise<Result>, known?: string): Promise<Result> {
    const { outcomes, repeated } = this.parts;
    const aliased = this.parts.aliased?.() ?? null;
    const asked = known === undefined ? this.digest : hashOf(this.digest, known);
    const digest = aliased === null ? asked : `${asked}@${hashOf(aliased)}`;
    return doneOnce(outcomes, this.dedup(digest), repeated, run);
  }

  streamed(known: string): { dedup: StoreDedup; repeated: () => void } {
    return { dedup: this.dedup(hashOf(this.digest, known)), repeated: this.parts.repeated };
  }

  private dedup(digest: string): StoreDedup {
    return {
      token: this.once.token,
      digest,
      expiresAtMs: this.parts.clock.wallMs() + KEPT_MS,
      sealingKey: this.sealingKey(),
    };
  }

  shown(issued: IssuedSecret): string {
    const secret = issued.key ?? openText(issued.sealedKey ?? '', this.sealingKey());
    if (secret !== null) return secret;
    throw new QuiverError(
      'conflict',
      'this was done by an earlier request with the same Idempotency-Key; the secret that it issued can be shown again only to a caller with the secret that it was called with: rotate the key for another one',
    );
  }

  private sealingKey(): string {
    const { key, request } = this.parts;
    return sealingKeyOf(String(request.headers['x-api-key'] ?? request.headers.authorization ?? ''), key);
  }
}

/** For a handler, which may spread it. */
export function handlerContext(once: RequestOnce): HandlerOnce {
  return {
    once: once.once,
    inStore: (run, known) => once.inStore(run, known),
    streamed: (known) => once.streamed(known),
    shown: (issued) => once.shown(issued),
  };
}

function hashOf(...parts: string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest('hex').slice(0, HASH_LENGTH);
}
