/** The roles of API keys. */
export type Role = 'admin' | 'readwrite' | 'readonly';

/** A key without its secret. Timestamps are ISO 8601, UTC, milliseconds. */
export interface ApiKeyView {
  id: number;
  name: string;
  role: Role;
  createdAt: string;
  isActive: boolean;
  expiresAt: string | null;
  lastUsedAt: string | null;
}

export interface KeysService {
  /**
   * The active, unexpired key with this secret, or null. Synchronous: it reads an in-memory view that follows the
   * cluster store. Secrets are compared as SHA-256 digests in constant time.
   */
  authenticate(secret: string): ApiKeyView | null;
  list(): Promise<ApiKeyView[]>;
  /** Errors: not_found. */
  get(id: number): Promise<ApiKeyView>;
  /** The answer is the only place that ever shows the secret. */
  create(input: { name: string; role: Role; expiresInDays: number | null }): Promise<ApiKeyView & { key: string }>;
  /** Errors: not_found; invalid_parameter when key 1 would lose its role or be switched off. */
  update(id: number, change: { name?: string; role?: Role; isActive?: boolean }): Promise<ApiKeyView>;
  rotate(id: number): Promise<ApiKeyView & { key: string }>;
  /** Answers the deleted key. Errors: not_found; invalid_parameter for key 1. */
  delete(id: number): Promise<ApiKeyView>;
}

/** Request statistics per key, stored durably every few seconds and on shutdown. */
export interface KeyUsage {
  /** Counts one request, now or at `wallMs`; cheap and synchronous. `endpoint` is the method and the route's template. */
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
