import { z } from 'zod';
import { KEY_ROLES, quotaField, quotaUsedField, scopesField } from './key-schemas';

/** Far longer than a token. */
const TOKEN_CHARACTERS_MAX = 256;

export const signInBody = z.object({
  token: z
    .string()
    .min(1)
    .max(TOKEN_CHARACTERS_MAX)
    .meta({ description: 'What stands behind `#sign-in=` in the link.' }),
});

export const signInAnswer = z.object({ api_key: z.string(), role: z.enum(KEY_ROLES), key_id: z.int() });

export const meAnswer = z
  .object({
    key_id: z.int().nullable().meta({ description: 'null for a bearer token.' }),
    subject: z.string().nullable().meta({ description: 'Whom the bearer token speaks for; null for a key.' }),
    name: z.string(),
    role: z.enum(KEY_ROLES),
    expires_at: z.iso.datetime().nullable(),
    collections: scopesField,
    quota: quotaField,
    quota_used: quotaUsedField.meta({
      description:
        'What it has stored of its quota in this period, and when that counts anew; null: it has none, or that can not be told while the cluster store can not be reached.',
    }),
  })
  .meta({ id: 'Caller' });
