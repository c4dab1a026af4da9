import type { CollectionScope } from './collection-scope';
import type { StoreDedup } from '../idempotency/store-dedup';
import type { KeyQuota } from './quota/key-quota';
import type { Role } from './role';

export type { Role } from './role';

/** A key without its secret. Timestamps are ISO 8601, UTC, milliseconds. */
export interface ApiKeyView {
  id: number;
  name: string;
  role: Role;
  createdAt: string;
  isActive: boolean;
  expiresAt: string | null;
  lastUsedAt: string | null;
  /** The collections that it is limited to; null: all. */
  collections: readonly CollectionScope[] | null;
  /** The networks that it may be used from, as CIDR; null: all. */
  allowedNetworks: readonly string[] | null;
  /** Requests in any 60 seconds, 0 without a limit; null: RATE_LIMIT_PER_MINUTE. */
  rateLimitPerMinute: number | null;
  /**
   * The most that it may store; null: as much as there is room for. Coordinators of earlier versions know no quotas.
   */
  quota: KeyQuota | null;
  /** Until when the secret before the last rotation works; null: it does not. */
  previousExpiresAt: string | null;
}

/** A key as whoever uses it is known by: what is the same for each of its requests. */
export type KeyInUse = Omit<ApiKeyView, 'lastUsedAt'>;

/** What a key may be limited to. */
export type KeyBounds = Pick<ApiKeyView, 'collections' | 'allowedNetworks' | 'rateLimitPerMinute' | 'quota'>;

export interface NewKey extends Partial<KeyBounds> {
  name: string;
  role: Role;
  expiresInDays: number | null;
}

/** What is left out stays as it is. */
export interface KeyChange extends Partial<KeyBounds> {
  name?: string;
  role?: Role;
  isActive?: boolean;
  /** Counted from now; null: never. */
  expiresInDays?: number | null;
}

/**
 * A secret that is shown once: as it is, or sealed in the outcome of an earlier request (idempotency/sealing-keys.ts).
 */
export type IssuedSecret = { key?: string; sealedKey?: string };

/** With a mark, the outcome is kept in the same transaction as the change, without the secret in the clear. */
export interface KeysService {
  /**
   * The active, unexpired key with this secret, or null. Synchronous: it reads an in-memory view that follows the
   * cluster store. Secrets are compared as SHA-256 digests in constant time.
   */
  authenticate(secret: string): KeyInUse | null;
  list(): Promise<ApiKeyView[]>;
  /** Ids of those that `list` leaves out because their stored record is damaged. Costs no call. */
  unreadable(): Promise<number[]>;
  /** Errors: not_found. */
  get(id: number): Promise<ApiKeyView>;
  /** The answer is the only place that ever shows the secret. Errors: invalid_parameter. */
  create(input: NewKey, dedup?: StoreDedup): Promise<ApiKeyView & { key: string }>;
  /** Errors: not_found; invalid_parameter when key 1 would lose its role, be switched off or limited. */
  update(id: number, change: KeyChange, dedup?: StoreDedup): Promise<ApiKeyView>;
  /** Gives a new secret. The present one works for `graceSeconds` more; an earlier one ends now. Errors: not_found. */
  rotate(id: number, graceSeconds?: number, dedup?: StoreDedup): Promise<ApiKeyView & { key: string }>;
  /** Answers the deleted key. Errors: not_found; invalid_parameter for key 1. */
  delete(id: number, dedup?: StoreDedup): Promise<ApiKeyView>;
}

/** Request statistics per key, stored durably every few seconds and on shutdown. */
export interface KeyUsage {
  /**
   * Counts one request, now or at `wallMs`; cheap and synchronous. `endpoint` is the method and the route's template.
   */
  record(keyId: number, endpoint: string, wallMs?: number): void;
  /** Errors: not_found. */
  ofKey(id: number): Promise<UsageView>;
  /** `overall` includes the requests of keys that were deleted since; `byKey` has the keys that there are, by id. */
  summary(): Promise<UsageSummary>;
}

export interface UsageSummary {
  overall: UsageView;
  byKey: { keyId: number; keyName: string; usage: UsageView }[];
}

export interface UsageView {
  totalRequests: number;
  last24h: number;
  last7d: number;
  last30d: number;
  byEndpoint: Record<string, number>;
  lastRequestAt: string | null;
}
