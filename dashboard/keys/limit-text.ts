import type { ApiKey, KeyQuota } from '../api/shapes';
import { bytes, count } from '../parts/format';
import { scopesFromText, scopesToText } from './scope-text';

/** The limits of a key as a form holds them: texts, empty where there is none. */
export interface LimitTexts {
  /** Days from now. */
  days: string;
  scopes: string;
  networks: string;
  rate: string;
  items: string;
  bytes: string;
  period: KeyQuota['period'];
}

export const NO_LIMITS: LimitTexts = {
  days: '',
  scopes: '',
  networks: '',
  rate: '',
  items: '',
  bytes: '',
  period: 'month',
};

/** The limits that a key has. When it expires is not among them: that is changed, or stays. */
export function limitsOf({
  collections,
  role,
  allowed_networks: networks,
  rate_limit_per_minute: rate,
  quota,
}: ApiKey): LimitTexts {
  const text = (value: number | null | undefined): string =>
    value === null || value === undefined ? '' : String(value);
  return {
    ...NO_LIMITS,
    scopes: collections === null ? '' : scopesToText(collections, role),
    networks: networks?.join(', ') ?? '',
    rate: text(rate),
    items: text(quota?.items),
    bytes: text(quota?.bytes),
    period: quota?.period ?? NO_LIMITS.period,
  };
}

/** What of a request's body they are; null takes a limit away. What is wrong in them, the service says. */
export function limitsBody({ scopes, networks, rate, items, bytes: most, period }: LimitTexts) {
  const number = (text: string): number | null => (text.trim() === '' ? null : Number(text));
  const listed = networks.split(/[\s,]+/).filter((network) => network !== '');
  const quota = { items: number(items), bytes: number(most), period };
  return {
    collections: scopesFromText(scopes),
    allowed_networks: listed.length === 0 ? null : listed,
    rate_limit_per_minute: number(rate),
    quota: quota.items === null && quota.bytes === null ? null : quota,
  };
}

const PERIODS = { day: 'a day', month: 'a month', total: 'in all' };

export function quotaText({ items, bytes: most, period }: KeyQuota): string {
  const parts = [
    ...(items === null ? [] : [`${count(items)} ${items === 1 ? 'item' : 'items'}`]),
    ...(most === null ? [] : [bytes(most)]),
  ];
  return `${parts.join(' and ')} ${PERIODS[period]}`;
}

/** Limits that have no column of their own, in words; none: an empty text. */
export function limitsText({ allowed_networks: networks, rate_limit_per_minute: rate, quota }: ApiKey): string {
  const parts = [];
  if (rate !== null) parts.push(rate === 0 ? 'any rate' : `${count(rate)} requests a minute`);
  if (networks !== null) parts.push(`from ${networks.join(', ')}`);
  if (quota !== null) parts.push(quotaText(quota));
  return parts.join('; ');
}
