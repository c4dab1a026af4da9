import { z } from 'zod';
import { REQUEST_BOUNDS } from '../http-limits';
import { valueHint } from './field-hints';
import { integerText, optional } from './fields';
import { report } from './issue';

export const KEY_ROLES = ['admin', 'readwrite', 'readonly'] as const;
const { expiryDaysMax, nameCharactersMax } = REQUEST_BOUNDS;

/** A value of the right type that is not a role gives 400; a wrong type gives 422. */
const role = z
  .string()
  .meta({ enum: KEY_ROLES })
  .transform((value, context) => {
    const known = KEY_ROLES.find((name) => name === value);
    if (known !== undefined) return known;
    report(context, value, `must be one of ${KEY_ROLES.join(', ')}${valueHint(value, KEY_ROLES)}`, { kind: 'invalid_parameter' });
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
    if (value < 1 || value > expiryDaysMax) report(context, value, `must be from 1 to ${expiryDaysMax}`, { kind: 'invalid_parameter' });
    return value;
  });

export const keyParameters = z.object({ id: integerText(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER) });

export const newKeyBody = z.object({ name: keyName, role, expires_in_days: optional(expiresInDays) });

export const keyChangeBody = z.object({ name: optional(keyName), role: optional(role), is_active: optional(z.boolean()) });

const keyFields = {
  id: z.int(),
  name: z.string(),
  role: z.enum(KEY_ROLES),
  created_at: z.iso.datetime(),
  is_active: z.boolean(),
  expires_at: z.iso.datetime().nullable(),
  last_used_at: z.iso.datetime().nullable(),
};

export const keyAnswer = z.object(keyFields).meta({ id: 'ApiKey' });
export const newKeyAnswer = z.object({ ...keyFields, key: z.string().meta({ description: 'The secret; shown this once.' }) }).meta({ id: 'ApiKeyWithSecret' });
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
export const usageSummaryAnswer = z.object({ ...usageFields, overall: usageAnswer, by_key: z.array(z.object({ key_id: z.int(), key_name: z.string(), ...usageFields })) }).meta({ id: 'UsageSummary' });
