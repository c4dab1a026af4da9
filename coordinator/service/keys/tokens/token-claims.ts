import type { TokenSettings } from '../../../../shared/base/config/token-settings';
import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import { type Caller, tokenIdentity } from '../caller';
import type { CollectionScope } from '../collection-scope';
import { SCOPES_MAX } from '../key-rules';
import { reaches, type Role } from '../role';
import { limitsIn } from './token-limits';

/** The claims of a token whose signature, issuer, audience and times were found to be right. */
export type Claims = Readonly<Record<string, unknown>>;

type Rules = Omit<TokenSettings, 'audiences' | 'algorithms' | 'keys' | 'toleranceSeconds'>;

const SUBJECT_CHARACTERS_MAX = 255;
/** `name`, or `prefix*`, each perhaps with `:role`. Names of collections hold neither mark. */
const SCOPE = /^([A-Za-z0-9_-]{0,255})(\*?)(?::(admin|readwrite|readonly))?$/;

/**
 * Whom a token speaks for, and what that caller may do. Errors: unauthenticated without a subject; forbidden when its
 * claims give no role, no collection, or what is no collection or no limit.
 */
export function callerOf(claims: Claims, rules: Rules): Caller {
  const subject = claimAt(claims, rules.subjectClaim);
  if (typeof subject !== 'string' || subject === '' || subject.length > SUBJECT_CHARACTERS_MAX) {
    throw new QuiverError(
      'unauthenticated',
      `invalid bearer token: its claim ${rules.subjectClaim} must be a text of 1 to ${SUBJECT_CHARACTERS_MAX} characters`,
    );
  }
  const role = roleIn(claims, rules) ?? rules.defaultRole;
  const rights = rules.collectionsClaim === '' ? everywhere(role, rules) : scopesIn(claims, role, rules);
  return {
    ...rights,
    id: null,
    name: subject,
    token: { subject, identity: tokenIdentity(rules.issuer, subject) },
    allowedNetworks: null,
    ...limitsIn(rules.limitsClaim === '' ? undefined : claimAt(claims, rules.limitsClaim), rules),
    expiresAt: typeof claims.exp === 'number' ? dateOf(claims.exp) : null,
  };
}

/** A claim by its name, or else by its path: `realm_access.roles`. Names may have dots in them, as addresses do. */
export function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let found: unknown = claims;
  for (const name of path.split('.')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Claims)[name];
  }
  return found;
}

/** The highest role that the claim names. */
function roleIn(claims: Claims, { roleClaim, roleOf }: Rules): Role | null {
  let best: Role | null = null;
  for (const value of textsOf(claimAt(claims, roleClaim))) {
    const role = roleOf === null ? (ROLES.find((name) => name === value) ?? null) : (roleOf.get(value) ?? null);
    if (role !== null && (best === null || reaches(role, best))) best = role;
  }
  return best;
}

const ROLES: readonly Role[] = ['admin', 'readwrite', 'readonly'];

function everywhere(role: Role | null, rules: Rules): Pick<Caller, 'role' | 'collections'> {
  if (role === null) throw lacksRole(rules);
  return { role, collections: null };
}

/** The role that it has elsewhere is none that reaches beyond collections: as of keys that are limited. */
function scopesIn(claims: Claims, role: Role | null, rules: Rules): Pick<Caller, 'role' | 'collections'> {
  const { collectionsClaim } = rules;
  const scopes: CollectionScope[] = [];
  const texts = textsOf(claimAt(claims, collectionsClaim));
  if (texts.length > SCOPES_MAX)
    throw new QuiverError('forbidden', `the token's claim ${collectionsClaim} has more than ${SCOPES_MAX} entries`);
  for (const text of texts) {
    const [matched, name, star, own] = SCOPE.exec(text) ?? [];
    if (matched === undefined || (name === '' && star === '')) {
      throw new QuiverError(
        'forbidden',
        `the token's claim ${collectionsClaim} has an entry that is not name, prefix* or *, with or without :role`,
      );
    }
    const scopeRole = (own as Role | undefined) ?? role;
    if (scopeRole === null) throw lacksRole(rules);
    if (name === '' && own === undefined) return { role: scopeRole, collections: null };
    scopes.push(star === '' ? { name, role: scopeRole } : { prefix: name, role: scopeRole });
  }
  if (scopes.length === 0)
    throw new QuiverError('forbidden', `the token's claim ${collectionsClaim} names no collection`);
  return { role: role === 'admin' ? 'readwrite' : (role ?? 'readonly'), collections: scopes };
}

/** Of a list, its texts; of a text, its words, as `scope` has them. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return value.split(/[\s,]+/).filter((word) => word !== '');
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
}

function lacksRole({ roleClaim }: Rules): QuiverError {
  return new QuiverError('forbidden', `the token gives no role: its claim ${roleClaim} holds none that is known here`);
}

/** null: beyond the range of dates. */
function dateOf(seconds: number): string | null {
  const date = new Date(seconds * 1_000);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
