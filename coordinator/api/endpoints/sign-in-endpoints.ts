import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import { type Caller, writerOf } from '../../service/keys/caller';
import type { KeyQuotaUse } from '../../service/keys/quota/key-quota';
import type { SignIn } from '../../service/keys/sign-in';
import type { KeyQuotasService } from '../../service/service';
import { quotaUsedData, scopesData } from '../answers/key-data';
import { dataAnswer, defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';
import * as schemas from '../schema/sign-in-schemas';

const tag = 'Service';
/** Strangers may send it. */
const BODY_BYTES_MAX = 1024;

/** null: it has no quota, or nobody can tell at present: who it is must be known all the same. */
async function usedBy(caller: Caller, keyQuotas: Pick<KeyQuotasService, 'usedOf'>): Promise<KeyQuotaUse | null> {
  const writer = writerOf(caller);
  if (writer === undefined) return null;
  return keyQuotas.usedOf(writer).catch((error: unknown) => {
    if (isQuiverError(error) && error.kind === 'unavailable') return null;
    throw error;
  });
}

export function signInEndpoints({
  signIn,
  keyQuotas,
}: {
  signIn: SignIn;
  keyQuotas: Pick<KeyQuotasService, 'usedOf'>;
}): Endpoint[] {
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/sign_in',
      access: 'public',
      isGuarded: true,
      isAdministrative: true,
      tag,
      summary: 'Get the admin key for the link that the first start printed',
      description:
        'A first start without `API_KEY` prints a link to the dashboard with a token, which gives the admin key ' +
        'once and for ten minutes; afterwards, and for any other token, the code is 401. Calls are limited like ' +
        'those with a bad key (`BAD_KEY_LIMIT_PER_MINUTE`).',
      body: {
        type: 'json',
        required: true,
        schema: schemas.signInBody,
        bytesMax: BODY_BYTES_MAX,
        example: { token: 'c29tZSB0b2tlbiBvZiB0aGUgbGluayB0aGF0IHdhcyBwcmludGVk' },
      },
      answer: { type: 'data', schema: schemas.signInAnswer },
      errors: [401, 429],
      handle: async ({ body, about }) => {
        const { apiKey, role, keyId } = await signIn.redeem(body.token);
        about(`key:${keyId}`);
        return dataAnswer({ api_key: apiKey, role, key_id: keyId });
      },
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/me',
      isWatched: true,
      access: 'readonly',
      collections: { type: 'own' },
      sheds: false,
      tag,
      summary: 'Show which key or token this is, and what it may do',
      answer: { type: 'data', schema: schemas.meAnswer },
      handle: async ({ key }) => {
        const caller = key as Caller;
        const { id, name, role, expiresAt, collections, quota, token } = caller;
        const used = await usedBy(caller, keyQuotas);
        const rights = { role, expires_at: expiresAt, collections: scopesData({ role, collections }), quota };
        return dataAnswer({
          key_id: id,
          subject: token?.subject ?? null,
          name,
          ...rights,
          quota_used: used === null ? null : quotaUsedData(used),
        });
      },
    }),
  ];
}
