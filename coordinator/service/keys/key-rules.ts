import { NetworkList } from '../../../shared/base/config/network-list';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { KeyRecord } from './key-record';
import type { KeyBounds, Role } from './keys-service';
import { type KeyQuota, QUOTA_PERIODS } from './quota/key-quota';

/** What keys may be. Errors: invalid_parameter. */

const ROLES: readonly string[] = ['admin', 'readwrite', 'readonly'] satisfies Role[];
/** As long as a collection's name may be. */
const NAME_LENGTH_MAX = 255;
/** A century: a longer time has no practical meaning and could exceed the range of dates. */
const EXPIRY_DAYS_MAX = 36_500;
/** Time for every client to get the new secret. An overlap without an end would be two secrets for one key. */
export const GRACE_SECONDS_MAX = 30 * 86_400;
/** Each is looked at for each request of the key. */
export const SCOPES_MAX = 100;
export const NETWORKS_MAX = 100;
/** As RATE_LIMIT_PER_MINUTE. */
export const KEY_RATE_MAX = 1_000_000_000;

export function checkName(name: string): void {
  if (name.trim() === '') throw new QuiverError('invalid_parameter', 'name must not be blank');
  if (name.length > NAME_LENGTH_MAX)
    throw new QuiverError('invalid_parameter', `name is longer than ${NAME_LENGTH_MAX} characters`);
}

export function checkRole(role: string): void {
  if (!ROLES.includes(role)) throw new QuiverError('invalid_parameter', `role must be one of ${ROLES.join(', ')}`);
}

export function checkExpiry(days: number): void {
  if (!Number.isInteger(days) || days < 1 || days > EXPIRY_DAYS_MAX) {
    throw new QuiverError('invalid_parameter', `expires_in_days must be an integer from 1 to ${EXPIRY_DAYS_MAX}`);
  }
}

export function checkDefaultKey(current: KeyRecord, next: KeyRecord): void {
  if (next.role !== 'admin')
    throw new QuiverError('invalid_parameter', 'the default key (id 1) must keep the role admin');
  if (!next.isActive) throw new QuiverError('invalid_parameter', 'the default key (id 1) cannot be deactivated');
  if (next.name !== current.name)
    throw new QuiverError('invalid_parameter', 'the default key (id 1) cannot be renamed');
  if (next.collections !== null || next.allowedNetworks !== null)
    throw new QuiverError('invalid_parameter', 'the default key (id 1) cannot be limited to collections or networks');
  if (next.quota !== null) throw new QuiverError('invalid_parameter', 'the default key (id 1) cannot have a quota');
  if (next.expiresAt !== null) throw new QuiverError('invalid_parameter', 'the default key (id 1) cannot expire');
}

export function checkGrace(seconds: number): void {
  if (!Number.isInteger(seconds) || seconds < 0 || seconds > GRACE_SECONDS_MAX) {
    throw new QuiverError('invalid_parameter', `grace_seconds must be an integer from 0 to ${GRACE_SECONDS_MAX}`);
  }
}

export function checkBounds({
  role,
  collections,
  allowedNetworks,
  rateLimitPerMinute,
  quota,
}: KeyBounds & { role: Role }): void {
  if (collections !== null) {
    if (collections.length === 0)
      throw new QuiverError('invalid_parameter', 'collections must not be empty: null means all of them');
    if (collections.length > SCOPES_MAX)
      throw new QuiverError('invalid_parameter', `collections has more than ${SCOPES_MAX} entries`);
    // It could make itself another key.
    if (role === 'admin')
      throw new QuiverError(
        'invalid_parameter',
        'a key that is limited to collections can not have the role admin; it may have it for a collection',
      );
    const names = new Set(collections.map(({ name, prefix }) => JSON.stringify([name, prefix])));
    if (names.size < collections.length) throw new QuiverError('invalid_parameter', 'collections names one twice');
  }
  if (allowedNetworks !== null) {
    if (allowedNetworks.length === 0)
      throw new QuiverError('invalid_parameter', 'allowed_networks must not be empty: null means all of them');
    if (allowedNetworks.length > NETWORKS_MAX)
      throw new QuiverError('invalid_parameter', `allowed_networks has more than ${NETWORKS_MAX} entries`);
    void new NetworkList(allowedNetworks);
  }
  checkLimits({ rateLimitPerMinute, quota });
}

/** The limits that keys and subjects of tokens have alike. */
export function checkLimits({ rateLimitPerMinute, quota }: Pick<KeyBounds, 'rateLimitPerMinute' | 'quota'>): void {
  if (
    rateLimitPerMinute !== null &&
    (!Number.isInteger(rateLimitPerMinute) || rateLimitPerMinute < 0 || rateLimitPerMinute > KEY_RATE_MAX)
  ) {
    throw new QuiverError('invalid_parameter', `rate_limit_per_minute must be an integer from 0 to ${KEY_RATE_MAX}`);
  }
  if (quota !== null) checkQuota(quota);
}

function checkQuota({ items, bytes, period }: KeyQuota): void {
  if (items === null && bytes === null)
    throw new QuiverError('invalid_parameter', 'quota must have items or bytes: null means none');
  for (const [name, value] of Object.entries({ items, bytes })) {
    if (value !== null && (!Number.isSafeInteger(value) || value < 1))
      throw new QuiverError(
        'invalid_parameter',
        `quota.${name} must be an integer from 1 to ${Number.MAX_SAFE_INTEGER}`,
      );
  }
  if (!QUOTA_PERIODS.includes(period))
    throw new QuiverError('invalid_parameter', `quota.period must be one of ${QUOTA_PERIODS.join(', ')}`);
}
