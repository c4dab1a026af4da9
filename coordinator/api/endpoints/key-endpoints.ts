import type { CollectionScope } from '../../service/keys/collection-scope';
import type { KeyBounds, KeysService, KeyUsage, UsageView } from '../../service/keys/keys-service';
import { keyIdentity, type KeyQuota } from '../../service/keys/quota/key-quota';
import type { KeyQuotasService } from '../../service/service';
import { dataAnswer, defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';
import { keyData, quotaUsedData } from '../answers/key-data';
import * as schemas from '../schema/key-schemas';

const tag = 'Administration';

function usageData(view: UsageView) {
  return {
    total_requests: view.totalRequests,
    last_24h: view.last24h,
    last_7d: view.last7d,
    last_30d: view.last30d,
    by_endpoint: view.byEndpoint,
    last_request_at: view.lastRequestAt,
  };
}

/** The limits that a body names; null takes one away. */
function boundsOf(body: {
  collections?: CollectionScope[] | null;
  allowed_networks?: string[] | null;
  rate_limit_per_minute?: number | null;
  quota?: KeyQuota | null;
}): Partial<KeyBounds> {
  const { collections, allowed_networks: allowedNetworks, rate_limit_per_minute: rateLimitPerMinute, quota } = body;
  return {
    ...(collections === undefined ? {} : { collections }),
    ...(allowedNetworks === undefined ? {} : { allowedNetworks }),
    ...(rateLimitPerMinute === undefined ? {} : { rateLimitPerMinute }),
    ...(quota === undefined ? {} : { quota }),
  };
}

export function keyEndpoints(parts: { keys: KeysService; usage: KeyUsage; keyQuotas: KeyQuotasService }): Endpoint[] {
  const { keys, usage, keyQuotas } = parts;
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/admin/keys',
      access: 'admin',
      tag,
      summary: 'Create an API key',
      description:
        'The secret is in this answer and never again. A key may be limited to `collections`, by name or prefix: it sees no others, and may call nothing that is about the service as a whole. ' +
        'A name counts before a prefix, a longer prefix before a shorter one.',
      body: {
        type: 'json',
        required: true,
        schema: schemas.newKeyBody,
        example: {
          name: 'reader',
          role: 'readonly',
          expires_in_days: 90,
          collections: [{ name: 'articles' }, { prefix: 'team-a-', role: 'readwrite' }],
        },
      },
      answer: { type: 'data', schema: schemas.newKeyAnswer },
      // A secret that can't be shown again.
      errors: [409],
      isOnce: true,
      handle: async ({ body, about, inStore, shown }) => {
        const input = {
          name: body.name,
          role: body.role,
          expiresInDays: body.expires_in_days ?? null,
          ...boundsOf(body),
        };
        const created = await inStore((dedup) => keys.create(input, dedup));
        about(`key:${created.id}`);
        return dataAnswer({ ...keyData(created), key: shown(created) });
      },
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/admin/keys',
      isWatched: true,
      access: 'admin',
      tag,
      summary: 'List API keys',
      answer: { type: 'data', schema: schemas.keysAnswer },
      handle: async ({ warnings }) => {
        const listed = await keys.list();
        for (const id of await keys.unreadable()) warnings.warn(`key ${id} is left out: its stored record is damaged`);
        return dataAnswer({ keys: listed.map(keyData) });
      },
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/admin/keys/{id}',
      access: 'admin',
      tag,
      summary: 'Show one API key',
      path: schemas.keyParameters,
      answer: { type: 'data', schema: schemas.keyAnswer },
      errors: [404],
      handle: async ({ path }) => dataAnswer(keyData(await keys.get(path.id))),
    }),
    defineEndpoint({
      method: 'PATCH',
      template: '/v1/admin/keys/{id}',
      access: 'admin',
      tag,
      summary: 'Rename an API key, change its role, limits or expiry, switch it off or on',
      description: 'What is left out stays as it is; null takes a limit away.',
      path: schemas.keyParameters,
      body: { type: 'json', required: true, schema: schemas.keyChangeBody, example: { is_active: false } },
      answer: { type: 'data', schema: schemas.keyAnswer },
      errors: [404],
      isOnce: true,
      handle: async ({ path, body, inStore }) => {
        const { name, role, is_active: isActive, expires_in_days: expiresInDays } = body;
        const change = {
          ...(name === undefined ? {} : { name }),
          ...(role === undefined ? {} : { role }),
          ...(isActive === undefined ? {} : { isActive }),
          ...(expiresInDays === undefined ? {} : { expiresInDays }),
          ...boundsOf(body),
        };
        return dataAnswer(keyData(await inStore((dedup) => keys.update(path.id, change, dedup))));
      },
    }),
    defineEndpoint({
      method: 'DELETE',
      template: '/v1/admin/keys/{id}',
      access: 'admin',
      tag,
      summary: 'Delete an API key',
      path: schemas.keyParameters,
      answer: { type: 'data', schema: schemas.keyDeletedAnswer },
      errors: [404],
      isOnce: true,
      handle: async ({ path, inStore }) => {
        const { id, name } = await inStore((dedup) => keys.delete(path.id, dedup));
        return dataAnswer({ deleted: id, id, name });
      },
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/admin/keys/{id}/rotate',
      access: 'admin',
      tag,
      summary: 'Give an API key a new secret',
      description:
        'The new secret is in this answer and never again. The old one works for `grace_seconds` more, 0 by ' +
        'default; one from before it stops working now.',
      path: schemas.keyParameters,
      body: { type: 'json', required: false, schema: schemas.rotationBody, example: { grace_seconds: 3600 } },
      answer: { type: 'data', schema: schemas.rotatedKeyAnswer },
      errors: [404, 409],
      isOnce: true,
      handle: async ({ path, body, inStore, shown }) => {
        const rotated = await inStore((dedup) => keys.rotate(path.id, body.grace_seconds, dedup));
        return dataAnswer({ ...keyData(rotated), key: shown(rotated), rotated: true });
      },
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/admin/keys/{id}/usage',
      isWatched: true,
      access: 'admin',
      tag,
      summary: 'Requests made with one key, and what it has stored of its quota',
      path: schemas.keyParameters,
      answer: { type: 'data', schema: schemas.keyUsageAnswer },
      errors: [404],
      handle: async ({ path: { id } }) => {
        const [{ quota }, own] = await Promise.all([keys.get(id), usage.ofKey(id)]);
        return dataAnswer({
          ...usageData(own),
          quota_used:
            quota === null ? null : quotaUsedData(await keyQuotas.usedOf({ identity: keyIdentity(id), quota })),
        });
      },
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/admin/keys/usage/summary',
      isWatched: true,
      access: 'admin',
      tag,
      summary: 'Requests made with all keys',
      description:
        'Of all keys together, those that were deleted since too, at the top and as `overall`; of each key that ' +
        'there is in `by_key`.',
      answer: { type: 'data', schema: schemas.usageSummaryAnswer },
      handle: async () => {
        const { overall, byKey } = await usage.summary();
        const all = usageData(overall);
        return dataAnswer({
          ...all,
          overall: all,
          by_key: byKey.map(({ keyId, keyName, usage: own }) => ({
            key_id: keyId,
            key_name: keyName,
            ...usageData(own),
          })),
        });
      },
    }),
  ];
}
