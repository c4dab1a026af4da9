import type { ApiKeyView, KeysService, KeyUsage, UsageView } from '../../keys/keys-service';
import { dataAnswer, defineEndpoint } from '../define-endpoint';
import type { Endpoint } from '../endpoint';
import * as schemas from '../schema/key-schemas';

const tag = 'Administration';

function keyData(view: ApiKeyView) {
  return {
    id: view.id,
    name: view.name,
    role: view.role,
    created_at: view.createdAt,
    is_active: view.isActive,
    expires_at: view.expiresAt,
    last_used_at: view.lastUsedAt,
  };
}

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

export function keyEndpoints(parts: { keys: KeysService; usage: KeyUsage }): Endpoint[] {
  const { keys, usage } = parts;
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/admin/keys',
      access: 'admin',
      tag,
      summary: 'Create an API key',
      description: 'The secret is in this answer and never again.',
      body: { type: 'json', required: true, schema: schemas.newKeyBody, example: { name: 'reader', role: 'readonly', expires_in_days: 90 } },
      answer: { type: 'data', schema: schemas.newKeyAnswer },
      handle: async ({ body }) => {
        const created = await keys.create({ name: body.name, role: body.role, expiresInDays: body.expires_in_days ?? null });
        return dataAnswer({ ...keyData(created), key: created.key });
      },
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/admin/keys',
      access: 'admin',
      tag,
      summary: 'List API keys',
      answer: { type: 'data', schema: schemas.keysAnswer },
      handle: async () => dataAnswer({ keys: (await keys.list()).map(keyData) }),
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
      summary: 'Rename an API key, change its role, switch it off or on',
      path: schemas.keyParameters,
      body: { type: 'json', required: true, schema: schemas.keyChangeBody, example: { is_active: false } },
      answer: { type: 'data', schema: schemas.keyAnswer },
      errors: [404],
      handle: async ({ path, body }) => {
        const { name, role, is_active: isActive } = body;
        const change = { ...(name === undefined ? {} : { name }), ...(role === undefined ? {} : { role }), ...(isActive === undefined ? {} : { isActive }) };
        return dataAnswer(keyData(await keys.update(path.id, change)));
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
      handle: async ({ path }) => {
        const { id, name } = await keys.delete(path.id);
        return dataAnswer({ deleted: id, id, name });
      },
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/admin/keys/{id}/rotate',
      access: 'admin',
      tag,
      summary: 'Give an API key a new secret',
      description: 'The old secret stops working; the new one is in this answer and never again.',
      path: schemas.keyParameters,
      answer: { type: 'data', schema: schemas.rotatedKeyAnswer },
      errors: [404],
      handle: async ({ path }) => {
        const rotated = await keys.rotate(path.id);
        return dataAnswer({ ...keyData(rotated), key: rotated.key, rotated: true });
      },
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/admin/keys/{id}/usage',
      access: 'admin',
      tag,
      summary: 'Requests made with one key',
      path: schemas.keyParameters,
      answer: { type: 'data', schema: schemas.usageAnswer },
      errors: [404],
      handle: async ({ path }) => dataAnswer(usageData(await usage.ofKey(path.id))),
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/admin/keys/usage/summary',
      access: 'admin',
      tag,
      summary: 'Requests made with all keys',
      description: 'Of all keys together, those that were deleted since too, at the top and as `overall`; of each key that there is in `by_key`.',
      answer: { type: 'data', schema: schemas.usageSummaryAnswer },
      handle: async () => {
        const { overall, byKey } = await usage.summary();
        const all = usageData(overall);
        return dataAnswer({ ...all, overall: all, by_key: byKey.map(({ keyId, keyName, usage: own }) => ({ key_id: keyId, key_name: keyName, ...usageData(own) })) });
      },
    }),
  ];
}
