import type { CollectionScope } from '../../service/keys/collection-scope';
import type { ApiKeyView, Role } from '../../service/keys/keys-service';
import type { KeyQuotaUse } from '../../service/keys/quota/key-quota';

/** A key as answers show it. */
export function keyData(view: ApiKeyView) {
  return {
    id: view.id,
    name: view.name,
    role: view.role,
    created_at: view.createdAt,
    is_active: view.isActive,
    expires_at: view.expiresAt,
    last_used_at: view.lastUsedAt,
    collections: scopesData(view),
    allowed_networks: view.allowedNetworks,
    rate_limit_per_minute: view.rateLimitPerMinute,
    quota: view.quota,
    previous_expires_at: view.previousExpiresAt,
  };
}

/** What a caller has stored of its quota. */
export function quotaUsedData({ items, bytes, period, resetsAt }: KeyQuotaUse) {
  return { items, bytes, period, resets_at: resetsAt };
}

/** What a key is limited to, each with the role that is in force. */
export function scopesData({ role, collections }: { role: Role; collections: readonly CollectionScope[] | null }) {
  return (
    collections?.map((scope) => ({
      ...(scope.name === undefined ? { prefix: scope.prefix } : { name: scope.name }),
      role: scope.role ?? role,
    })) ?? null
  );
}
