import type { TokenSettings } from '../../../../shared/base/config/token-settings';
import { isQuiverError, QuiverError } from '../../../../shared/base/errors/quiver-error';
import type { Caller } from '../caller';
import { checkLimits } from '../key-rules';
import type { KeyQuota } from '../quota/key-quota';

type Limits = Pick<Caller, 'rateLimitPerMinute' | 'quota'>;
type Rules = Pick<TokenSettings, 'rateLimitPerMinute' | 'quota' | 'quotaPeriod' | 'limitsClaim'>;

const LIMITS = ['rate_limit_per_minute', 'quota'];
/** Characters of a name in a message. */
const NAME_SHOWN_MAX = 64;
const QUOTA_FIELDS = ['items', 'bytes', 'period'];

/**
 * The limits of a token's subject: what its claim says, and of what that leaves out, the settings. A claim that is not
 * understood would leave somebody without the limits that were meant. Errors: forbidden.
 */
export function limitsIn(claim: unknown, rules: Rules): Limits {
  const { rateLimitPerMinute, quota, quotaPeriod, limitsClaim } = rules;
  if (claim === undefined || claim === null) return { rateLimitPerMinute, quota };
  const wrong = (what: string): QuiverError => new QuiverError('forbidden', `the token's claim ${limitsClaim} ${what}`);
  const given = objectIn(claim);
  if (given === null) throw wrong('is no object with limits, nor a text of one');
  const strange = strangerIn(given, LIMITS);
  if (strange !== undefined) throw wrong(`has ${shown(strange)}, which is none of ${LIMITS.join(', ')}`);
  const { rate_limit_per_minute: rate, quota: own } = given;
  const limits = {
    rateLimitPerMinute: (rate as number | null | undefined) ?? rateLimitPerMinute,
    quota: own === undefined ? quota : quotaIn(own, quotaPeriod, wrong),
  };
  try {
    checkLimits(limits);
  } catch (error) {
    throw isQuiverError(error) ? wrong(`does not hold limits: ${error.message}`) : error;
  }
  return limits;
}

/** null takes away what the settings have. */
function quotaIn(own: unknown, fallback: KeyQuota['period'], wrong: (what: string) => QuiverError): KeyQuota | null {
  if (own === null) return null;
  const given = objectIn(own);
  if (given === null) throw wrong('has a quota that is no object');
  const strange = strangerIn(given, QUOTA_FIELDS);
  if (strange !== undefined)
    throw wrong(`has ${shown(strange)} in its quota, which is none of ${QUOTA_FIELDS.join(', ')}`);
  const { items = null, bytes = null, period = fallback } = given as Partial<KeyQuota>;
  return { items, bytes, period };
}

/** An object, or a text that is one in JSON. */
function objectIn(value: unknown): Record<string, unknown> | null {
  let found = value;
  if (typeof value === 'string') {
    try {
      found = JSON.parse(value);
    } catch {
      return null;
    }
  }
  return typeof found === 'object' && found !== null && !Array.isArray(found)
    ? (found as Record<string, unknown>)
    : null;
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, NAME_SHOWN_MAX));
}

function strangerIn(given: Record<string, unknown>, known: readonly string[]): string | undefined {
  return Object.keys(given).find((name) => !known.includes(name));
}
