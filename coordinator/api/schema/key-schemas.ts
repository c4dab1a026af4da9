import { z } from 'zod';
import { isNetwork } from '../../../shared/base/config/network-list';
import { GRACE_SECONDS_MAX, KEY_RATE_MAX, NETWORKS_MAX, SCOPES_MAX } from '../../service/keys/key-rules';
import { REQUEST_BOUNDS } from '../requests/http-limits';
import { valueHint } from '../fields/field-hints';
import { QUOTA_PERIODS } from '../../service/keys/quota/key-quota';
import { boundedArray, collectionName, integer, integerText, optional, withDefault } from '../fields/fields';
import type { CollectionScope } from '../../service/keys/collection-scope';
import { report } from '../fields/issue';

export const KEY_ROLES = ['admin', 'readwrite', 'readonly'] as const;
const { expiryDaysMax, nameCharactersMax } = REQUEST_BOUNDS;

/** A value of the right type that is not a role gives 400; a wrong type gives 422. */
const role = z
  .string()
  .meta({ enum: KEY_ROLES })
  .transform((value, context) => {
    const known = KEY_ROLES.find((name) => name === value);
    if (known !== undefined) return known;
    report(context, value, `must be one of ${KEY_ROLES.join(', ')}${valueHint(value, KEY_ROLES)}`, {
      kind: 'invalid_parameter',
    });
    return z.NEVER;
  });

const keyName = z
  .string()
  .max(nameCharactersMax)
  .transform((value, context) => {
    if (value.trim() === '') report(context, value, 'must not be blank', { kind: 'invalid_parameter' });
    return value;
  });

const expiresInDays = z
  .int()
  .meta({ minimum: 1, maximum: expiryDaysMax })
  .transform((value, context) => {
    if (value < 1 || value > expiryDaysMax)
      report(context, value, `must be from 1 to ${expiryDaysMax}`, { kind: 'invalid_parameter' });
    return value;
  });

export const keyParameters = z.object({ id: integerText(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER) });

/** A collection by its name, or all whose names begin so. */
const scope = z
  .object({ name: optional(collectionName), prefix: optional(collectionName), role: optional(role) })
  .meta({ description: 'Give `name` or `prefix`. Without a role, it is that of the key.' })
  .transform(({ name, prefix, role: own }, context): CollectionScope => {
    if (name !== undefined && prefix === undefined) return { name, role: own };
    if (prefix !== undefined && name === undefined) return { prefix, role: own };
    report(context, name, 'must have either name or prefix', { wanted: ['name', 'prefix'] });
    return z.NEVER;
  });

const network = z
  .string()
  .meta({ examples: ['10.0.0.0/8', '2001:db8::/32'] })
  .refine(isNetwork, { error: 'must be an address or a network, as 10.0.0.0/8 or 2001:db8::/32' });

/** Names and types; that one of the two is there, the keys' rules say. */
const quota = z
  .object({
    items: integer(1, Number.MAX_SAFE_INTEGER)
      .nullable()
      .optional()
      .meta({ description: 'Items that it may write; left out or null: any number.' }),
    bytes: integer(1, Number.MAX_SAFE_INTEGER).nullable().optional().meta({
      description: 'Bytes of vectors, metadata, texts and ids that it may write; left out or null: any number.',
    }),
    period: withDefault(z.enum(QUOTA_PERIODS), 'month').meta({ description: 'Per day or month of UTC, or in all.' }),
  })
  .transform(({ items = null, bytes = null, period }, context) => {
    if (items === null && bytes === null)
      report(context, items, 'must have items or bytes', { kind: 'invalid_parameter', wanted: ['items', 'bytes'] });
    return { items, bytes, period };
  });

const LIMITS = {
  collections: boundedArray(scope, SCOPES_MAX)
    .nullable()
    .optional()
    .meta({ description: 'Collections that the key is limited to; null: all. Its role is then not admin.' }),
  allowed_networks: boundedArray(network, NETWORKS_MAX)
    .nullable()
    .optional()
    .meta({ description: 'Networks that it may be used from; null: all.' }),
  rate_limit_per_minute: integer(0, KEY_RATE_MAX)
    .nullable()
    .optional()
    .meta({ description: 'Requests in any 60 seconds; 0: no limit; null: RATE_LIMIT_PER_MINUTE.' }),
  quota: quota.nullable().optional().meta({
    description:
      'The most that it may store; null: as much as there is room for. Each item of a write counts, whether it is new or replaces another; deleting gives nothing back.',
  }),
};

export const newKeyBody = z.object({ name: keyName, role, expires_in_days: optional(expiresInDays), ...LIMITS });

export const keyChangeBody = z.object({
  name: optional(keyName),
  role: optional(role),
  is_active: optional(z.boolean()),
  expires_in_days: expiresInDays.nullable().optional().meta({ description: 'Counted from now; null: never.' }),
  ...LIMITS,
});

export const rotationBody = z.object({
  grace_seconds: withDefault(integer(0, GRACE_SECONDS_MAX), 0).meta({
    description: 'Seconds for which the old secret works, too.',
  }),
});

/** What a key is limited to, in answers. */
export const scopesField = z
  .array(
    z.object({
      name: z.string().optional(),
      prefix: z.string().optional(),
      role: z.enum(KEY_ROLES).meta({ description: 'The role for them.' }),
    }),
  )
  .nullable()
  .meta({ description: 'Collections that the key is limited to; null: all.' });

const quotaFields = {
  items: z.int().nullable().meta({ description: 'null: any number.' }),
  bytes: z.int().nullable().meta({ description: 'Of vectors, metadata, texts and ids; null: any number.' }),
  period: z.enum(QUOTA_PERIODS).meta({ description: 'A day or month of UTC, or in all.' }),
};

/** What a key may store, in answers. */
export const quotaField = z
  .object(quotaFields)
  .nullable()
  .meta({ description: 'The most that it may store; null: as much as there is room for.' });

export const quotaUsedField = z
  .object({
    ...quotaFields,
    resets_at: z.iso.datetime().nullable().meta({ description: 'When it counts anew; null: never.' }),
  })
  .nullable()
  .meta({
    description: 'What it has stored of its quota in this period, and when that counts anew; null: it has none.',
  });

const keyFields = {
  id: z.int(),
  name: z.string(),
  role: z.enum(KEY_ROLES),
  created_at: z.iso.datetime(),
  is_active: z.boolean(),
  expires_at: z.iso.datetime().nullable(),
  last_used_at: z.iso.datetime().nullable(),
  collections: scopesField,
  allowed_networks: z
    .array(z.string())
    .nullable()
    .meta({ description: 'Networks that it may be used from; null: all.' }),
  rate_limit_per_minute: z
    .int()
    .nullable()
    .meta({ description: 'Requests in any 60 seconds; 0: no limit; null: RATE_LIMIT_PER_MINUTE.' }),
  quota: quotaField,
  previous_expires_at: z.iso
    .datetime()
    .nullable()
    .meta({ description: 'Until when the secret before the last rotation works; null: it does not.' }),
};

export const keyAnswer = z.object(keyFields).meta({ id: 'ApiKey' });
export const newKeyAnswer = z
  .object({ ...keyFields, key: z.string().meta({ description: 'The secret; shown this once.' }) })
  .meta({ id: 'ApiKeyWithSecret' });
export const rotatedKeyAnswer = newKeyAnswer.extend({ rotated: z.literal(true) }).meta({ id: 'RotatedApiKey' });
export const keysAnswer = z.object({ keys: z.array(keyAnswer) });
export const keyDeletedAnswer = z.object({ deleted: z.int(), id: z.int(), name: z.string() });
const usageFields = {
  total_requests: z.int(),
  last_24h: z.int(),
  last_7d: z.int(),
  last_30d: z.int(),
  by_endpoint: z.record(z.string(), z.int()),
  last_request_at: z.iso.datetime().nullable(),
};

export const usageAnswer = z.object(usageFields).meta({ id: 'Usage' });
export const keyUsageAnswer = z.object({ ...usageFields, quota_used: quotaUsedField }).meta({ id: 'UsageOfKey' });
export const usageSummaryAnswer = z
  .object({
    ...usageFields,
    overall: usageAnswer,
    by_key: z.array(z.object({ key_id: z.int(), key_name: z.string(), ...usageFields })),
  })
  .meta({ id: 'UsageSummary' });
