import { QuiverError } from '../errors/quiver-error';

/** The role of a caller, as settings name it. */
export type SettingRole = 'admin' | 'readwrite' | 'readonly';

/** What a subject of tokens may write in a period, as settings name it; one of the two is a number. */
export interface SettingQuota {
  items: number | null;
  bytes: number | null;
  period: SettingPeriod;
}

export type SettingPeriod = 'day' | 'month' | 'total';

/** Which bearer tokens are taken, and what their claims mean. */
export interface TokenSettings {
  /** What `iss` must be. */
  issuer: string;
  /** `aud` must have one of these. */
  audiences: readonly string[];
  algorithms: readonly string[];
  /** Where the issuer's public keys are. */
  keys: { type: 'discovery'; issuer: string } | { type: 'url'; url: string } | { type: 'file'; path: string };
  roleClaim: string;
  /** By the value of the claim; null: the values are roles. */
  roleOf: ReadonlyMap<string, SettingRole> | null;
  /** Role of a token whose claim says none; null: it is refused. */
  defaultRole: SettingRole | null;
  /** Empty: tokens are for all collections. */
  collectionsClaim: string;
  subjectClaim: string;
  /** Of a subject whose token says nothing of it; null: as any caller's. */
  rateLimitPerMinute: number | null;
  /** The same; null: none. */
  quota: SettingQuota | null;
  /** Of a quota that names none. */
  quotaPeriod: SettingPeriod;
  /** Empty: no token has limits of its own. */
  limitsClaim: string;
  toleranceSeconds: number;
}

/** The values of the settings. */
export interface TokenVariables {
  jwtIssuer: string;
  jwtAudience: string;
  jwtJwksUrl: string;
  jwtJwksFile: string;
  jwtAlgorithms: string;
  jwtRoleClaim: string;
  jwtRoleMap: string;
  jwtDefaultRole: string;
  jwtCollectionsClaim: string;
  jwtSubjectClaim: string;
  jwtRateLimitPerMinute: number;
  jwtQuotaItems: number;
  jwtQuotaBytes: number;
  jwtQuotaPeriod: string;
  jwtLimitsClaim: string;
  jwtToleranceSeconds: number;
}

/** Signatures by a private key, which only the issuer has. With the others, whoever can check a token can make one. */
export const TOKEN_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;

const ROLES: readonly string[] = ['admin', 'readwrite', 'readonly'] satisfies SettingRole[];
const URL_OF_KEYS = /^https?:\/\/[^\s/?#@]+(?:\/[^\s#]*)?$/;

/** null without JWT_ISSUER. Errors: invalid_parameter with a line that names the variable. */
export function tokenSettings(values: TokenVariables): TokenSettings | null {
  const issuer = values.jwtIssuer.trim();
  if (issuer === '') {
    const [stray] = strayOf(values);
    if (stray !== undefined) refuse(stray[0], stray[1], 'JWT_ISSUER to be set, too');
    return null;
  }
  const audiences = listOf(values.jwtAudience);
  // Without one, a token that the issuer made for any other service would do here.
  if (audiences.length === 0)
    refuse(
      'JWT_AUDIENCE',
      values.jwtAudience,
      'the audience that tokens for this service have, since JWT_ISSUER is set',
    );
  const algorithms = listOf(values.jwtAlgorithms);
  const bad = algorithms.find((name) => !(TOKEN_ALGORITHMS as readonly string[]).includes(name));
  if (bad !== undefined || algorithms.length === 0)
    refuse('JWT_ALGORITHMS', bad ?? '', `some of ${TOKEN_ALGORITHMS.join(', ')}`);
  return {
    issuer,
    audiences,
    algorithms,
    keys: keysOf(issuer, values),
    roleClaim: values.jwtRoleClaim,
    roleOf: roleMap(values.jwtRoleMap),
    defaultRole: values.jwtDefaultRole === '' ? null : (values.jwtDefaultRole as SettingRole),
    collectionsClaim: values.jwtCollectionsClaim,
    subjectClaim: values.jwtSubjectClaim,
    rateLimitPerMinute: values.jwtRateLimitPerMinute || null,
    quota: quotaOf(values),
    quotaPeriod: values.jwtQuotaPeriod as SettingPeriod,
    limitsClaim: values.jwtLimitsClaim,
    toleranceSeconds: values.jwtToleranceSeconds,
  };
}

/** What is set and would have no effect, though somebody relies on it. */
function strayOf(values: TokenVariables): (readonly [name: string, value: string])[] {
  const texts = [
    ['JWT_AUDIENCE', values.jwtAudience],
    ['JWT_JWKS_URL', values.jwtJwksUrl],
    ['JWT_JWKS_FILE', values.jwtJwksFile],
    ['JWT_LIMITS_CLAIM', values.jwtLimitsClaim],
  ] as const;
  const numbers = [
    ['JWT_RATE_LIMIT_PER_MINUTE', values.jwtRateLimitPerMinute],
    ['JWT_QUOTA_ITEMS', values.jwtQuotaItems],
    ['JWT_QUOTA_BYTES', values.jwtQuotaBytes],
  ] as const;
  return [
    ...texts.filter(([, value]) => value !== ''),
    ...numbers.filter(([, value]) => value !== 0).map(([name, value]) => [name, String(value)] as const),
  ];
}

function quotaOf({
  jwtQuotaItems: items,
  jwtQuotaBytes: bytes,
  jwtQuotaPeriod: period,
}: TokenVariables): SettingQuota | null {
  return items === 0 && bytes === 0
    ? null
    : { items: items || null, bytes: bytes || null, period: period as SettingPeriod };
}

function keysOf(issuer: string, { jwtJwksUrl: url, jwtJwksFile: path }: TokenVariables): TokenSettings['keys'] {
  if (url !== '' && path !== '') refuse('JWT_JWKS_FILE', path, 'JWT_JWKS_URL not to be set, too');
  if (path !== '') return { type: 'file', path };
  if (url !== '')
    return URL_OF_KEYS.test(url)
      ? { type: 'url', url }
      : refuse('JWT_JWKS_URL', url, 'an address such as https://issuer.example/keys');
  return URL_OF_KEYS.test(issuer)
    ? { type: 'discovery', issuer }
    : refuse(
        'JWT_ISSUER',
        issuer,
        'an address such as https://issuer.example, or JWT_JWKS_URL or JWT_JWKS_FILE to be set, too',
      );
}

function roleMap(text: string): TokenSettings['roleOf'] {
  const pairs = listOf(text);
  if (pairs.length === 0) return null;
  const map = new Map<string, SettingRole>();
  for (const pair of pairs) {
    // The value of a claim may be an address with an equals sign in it.
    const at = pair.lastIndexOf('=');
    const role = pair.slice(at + 1).trim();
    const value = pair.slice(0, Math.max(0, at)).trim();
    if (value === '' || !ROLES.includes(role))
      refuse('JWT_ROLE_MAP', pair, 'pairs such as operators=admin,apps=readwrite, separated by commas');
    map.set(value, role as SettingRole);
  }
  return map;
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function refuse(name: string, value: string, expected: string): never {
  throw new QuiverError('invalid_parameter', `${name}=${JSON.stringify(value)} is not valid: expected ${expected}`);
}
