import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ApiKey } from '../../clients/typescript/src/generated/api-types';
import type { KeyChange } from '../../clients/typescript/src/api';
import { count, size } from '../terminal/print';
import { names, wholeNumber } from './connected-command';

type Role = 'admin' | 'readwrite' | 'readonly';
type Period = 'day' | 'month' | 'total';
type Scopes = NonNullable<ApiKey['collections']>;
type Quota = NonNullable<ApiKey['quota']>;

/** What takes a limit away: a parser of options can't answer null. */
const NONE = 'none';
type None = typeof NONE;

/** Limits of a key as options say them; what is left out stays. */
export interface KeyLimitOptions {
  days?: number | None;
  collections?: Scopes | None;
  networks?: string[] | None;
  rate?: number | None;
  quotaItems?: number | None;
  quotaBytes?: number | None;
  quotaPeriod?: Period;
  /** false: `--no-quota`. */
  quota?: boolean;
}

/** As the service bounds them. */
const DAYS_MAX = 36_500;
const RATE_MAX = 1_000_000_000;
const ROLES: readonly string[] = ['readonly', 'readwrite', 'admin'] satisfies Role[];

/** Options of a new key, or of one that is there: then each has a word that takes the limit away. */
export function withKeyLimits(command: Command, { isNew }: { isNew: boolean }): Command {
  const orWord = (text: string, word: string): string => (isNew ? text : `${text}; "${word}" takes it away`);
  const number = (word: string, least: number, most: number) =>
    isNew ? wholeNumber(least, most) : numberOr(word, least, most);
  command
    .option(
      '--days <count>',
      isNew ? 'how long it is valid; otherwise for ever' : 'how long it is valid from now; "never" for ever',
      number('never', 1, DAYS_MAX),
    )
    .option(
      '--collections <list>',
      orWord(
        'collections that it is limited to: names, or prefixes as "team-a-*", each perhaps with a role, as ' +
          '"team-a-*:readwrite"',
        '*',
      ),
      scopesOf,
    )
    .option(
      '--networks <list>',
      orWord('networks that it may be used from, as "10.0.0.0/8,2001:db8::/32"', 'all'),
      networksOf,
    )
    .option(
      '--rate <count>',
      orWord("requests in any 60 seconds, 0 for any number; otherwise the service's", 'default'),
      number('default', 0, RATE_MAX),
    )
    .option(
      '--quota-items <count>',
      orWord('items that it may write in a period', 'any'),
      number('any', 1, Number.MAX_SAFE_INTEGER),
    )
    .option(
      '--quota-bytes <count>',
      orWord('bytes that it may write in a period', 'any'),
      number('any', 1, Number.MAX_SAFE_INTEGER),
    )
    .addOption(
      new Option('--quota-period <period>', 'the period, of UTC, or in all (default: month)').choices([
        'day',
        'month',
        'total',
      ]),
    );
  return isNew ? command : command.option('--no-quota', 'let it write as much as there is room for');
}

/** What of a request's body they are. `present`: the key as it is, whose quota is changed in part. */
export function limitsBody(options: KeyLimitOptions, present: Pick<ApiKey, 'quota'> | null): KeyChange {
  const { days, collections, networks, rate } = options;
  const quota = quotaOf(options, present?.quota ?? null);
  return {
    ...(days === undefined ? {} : { expires_in_days: orNull(days) }),
    ...(collections === undefined ? {} : { collections: orNull(collections) }),
    ...(networks === undefined ? {} : { allowed_networks: orNull(networks) }),
    ...(rate === undefined ? {} : { rate_limit_per_minute: orNull(rate) }),
    ...(quota === undefined ? {} : { quota }),
  };
}

/** undefined: it stays. */
function quotaOf(
  { quota, quotaItems, quotaBytes, quotaPeriod }: KeyLimitOptions,
  present: Quota | null,
): Quota | null | undefined {
  if (quota === false) return null;
  if (!changesQuota({ quotaItems, quotaBytes, quotaPeriod })) return undefined;
  const { items, bytes, period } = present ?? { items: null, bytes: null, period: 'month' as const };
  return {
    items: quotaItems === undefined ? items : orNull(quotaItems),
    bytes: quotaBytes === undefined ? bytes : orNull(quotaBytes),
    period: quotaPeriod ?? period,
  };
}

function orNull<Value>(value: Value | None): Value | null {
  return value === NONE ? null : (value as Value);
}

/** Whether a part of the quota is to be changed, and the others to stay. */
export function changesQuota({
  quotaItems,
  quotaBytes,
  quotaPeriod,
}: Pick<KeyLimitOptions, 'quotaItems' | 'quotaBytes' | 'quotaPeriod'>): boolean {
  return quotaItems !== undefined || quotaBytes !== undefined || quotaPeriod !== undefined;
}

/** The limits of a key in words; null: it has none. */
export function limitsText({
  role,
  collections,
  allowed_networks: networks,
  rate_limit_per_minute: rate,
  quota,
}: ApiKey): string | null {
  const parts = [];
  if (collections !== null)
    parts.push(
      collections
        .map((scope) => `${scope.name ?? `${scope.prefix}*`}${scope.role === role ? '' : `:${scope.role}`}`)
        .join(','),
    );
  if (networks !== null) parts.push(`from ${networks.join(',')}`);
  if (rate !== null) parts.push(rate === 0 ? 'any rate' : `${count(rate)} a minute`);
  if (quota !== null) parts.push(`${amountText(quota)} ${PERIODS[quota.period]}`);
  return parts.length === 0 ? null : parts.join('; ');
}

const PERIODS: Record<Period, string> = { day: 'a day', month: 'a month', total: 'in all' };

/** "1,000 items and 1.0 GiB". */
export function amountText({ items, bytes }: Pick<Quota, 'items' | 'bytes'>): string {
  return [
    ...(items === null ? [] : [`${count(items)} ${items === 1 ? 'item' : 'items'}`]),
    ...(bytes === null ? [] : [size(bytes)]),
  ].join(' and ');
}

function numberOr(word: string, least: number, most: number): (text: string) => number | None {
  const parse = wholeNumber(least, most);
  return (text) => (text === word ? NONE : parse(text));
}

/** "articles,team-a-*:readwrite"; "*" is all of them. */
function scopesOf(text: string, before: Scopes | None = []): Scopes | None {
  const listed = names(text);
  if (listed.length === 1 && listed[0] === '*') return NONE;
  const scopes = listed.map((one) => {
    const [, name, star, role] = /^([^:*]*)(\*?)(?::(.*))?$/.exec(one) ?? [];
    if (!name || (role !== undefined && !ROLES.includes(role)))
      throw new InvalidArgumentError(
        'It must be names such as "articles,team-a-*:readwrite", the role being readonly, readwrite or admin.',
      );
    return { ...(star === '' ? { name } : { prefix: name }), ...(role === undefined ? {} : { role: role as Role }) };
  });
  if (scopes.length === 0) throw new InvalidArgumentError('It must name a collection.');
  return [...(before === NONE ? [] : before), ...(scopes as Scopes)];
}

/** "10.0.0.0/8,2001:db8::/32"; "all" is every address. What is no network, the service says. */
function networksOf(text: string, before: string[] | None = []): string[] | None {
  const listed = names(text);
  if (listed.length === 1 && listed[0] === 'all') return NONE;
  if (listed.length === 0) throw new InvalidArgumentError('It must name a network.');
  return [...(before === NONE ? [] : before), ...listed];
}
