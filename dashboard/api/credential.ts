/**
 * A JSON Web Token: three parts, the first of which is a JSON object in base64url; the last is empty where nobody
 * signed it.
 */
const JSON_WEB_TOKEN = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/;

/** The header for what somebody signed in with: a key, or a token of an identity provider. */
export function credential(secret: string): [name: string, value: string] {
  return JSON_WEB_TOKEN.test(secret) ? ['authorization', `Bearer ${secret}`] : ['x-api-key', secret];
}
