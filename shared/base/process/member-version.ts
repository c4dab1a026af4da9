/**
 * What members of a cluster tell each other about their programs, so that two versions work together during an upgrade.
 *
 * A **protocol version** rises when members of a release can no longer do without something that the release before did
 * not have. Each works with the one before it. A **feature** is something new that is used only where everybody who is
 * concerned knows it. To add one: a name here, and `everyoneKnows` where it is begun to be used. A released name keeps
 * its meaning for ever. When the oldest protocol that this program works with implies it, it goes.
 */
export const FEATURES = [
  'text-filters',
  'groups',
  'aggregates',
  'element-filters',
  'item-filters',
  'geo-filters',
  'ordered-scroll',
  'word-filters',
  'updated-filter',
  'keyword-plans',
  'keyword-fields',
  'unspaced-languages',
  'reindexes',
  'word-variants',
  'field-weights',
  'synonyms',
  'stop-words',
  'field-analysers',
  'list-parts',
  'boosts',
  'aliases',
  'documents',
  'collection-models',
  'boosted-parts',
  'reembeds',
  'passage-templates',
] as const;
export type Feature = (typeof FEATURES)[number];

/** The protocol of release 0.2.0, the oldest with which members of later releases can be upgraded one by one. */
const FLOOR = { protocol: 3, release: '0.2.0' } as const;

/**
 * What a member has by its settings. It says so in the handshake alone, beside its features, so only who is connected
 * to it knows: a node gives connections that begin with READS_GREETING to threads that answer reads.
 */
export const READ_THREADS = 'read-threads';

/** The version of a member's program, as other members see it. */
export interface MemberVersion {
  /** The protocol that it speaks. */
  protocol: number;
  /** The oldest protocol of others that it works with; at most `protocol`. */
  oldest: number;
  /** Names of features that it knows; also of some that this program does not know. */
  features: readonly string[];
}

/** The version as registrations in etcd carry it. Without the fields, it is UNVERSIONED. */
export interface VersionFields {
  protocol?: number;
  oldestProtocol?: number;
  features?: string[];
}

/** A program that says nothing about its version, or nonsense: no release from the floor on. */
export const UNVERSIONED: MemberVersion = { protocol: 1, oldest: 1, features: [] };

/** This program's. Tests put that of another release in its place (test/support/versions); no setting can. */
export const OWN_VERSION: MemberVersion = (globalThis as { quiverMemberVersion?: MemberVersion })
  .quiverMemberVersion ?? {
  protocol: FLOOR.protocol,
  oldest: FLOOR.protocol,
  features: FEATURES,
};

/** What a member registers about itself. */
export function versionToFields({ protocol, oldest, features }: MemberVersion): VersionFields {
  return { protocol, oldestProtocol: oldest, features: [...features] };
}

export function versionFromFields({ protocol, oldestProtocol, features }: VersionFields): MemberVersion {
  if (!Number.isSafeInteger(protocol)) return UNVERSIONED;
  return {
    protocol: protocol!,
    oldest: oldestProtocol ?? protocol!,
    features: Array.isArray(features) ? features : [],
  };
}

/** The version as text, for the handshake: `<protocol> <oldest>[ <features, separated by commas>]`. */
export function versionToText({ protocol, oldest, features }: MemberVersion): string {
  return [protocol, oldest, ...(features.length > 0 ? [features.join(',')] : [])].join(' ');
}

/** Never fails: what is no version counts as UNVERSIONED. What a later program says besides is left out. */
export function versionFromText(text: string): MemberVersion {
  const [, protocol, oldest, features = ''] = /^(\d{1,9}) (\d{1,9})(?: (\S*)| *$)/.exec(text) ?? [];
  if (protocol === undefined) return UNVERSIONED;
  return {
    protocol: Number(protocol),
    oldest: Number(oldest),
    features: features.split(',').filter((name) => /^[a-z0-9-]+$/.test(name)),
  };
}

/** Why two members can't work together, in a sentence that names both versions and the way out; null if they can. */
export function incompatibilityOf(own: MemberVersion, other: MemberVersion, name: string): string | null {
  if (own.protocol >= other.oldest && other.protocol >= own.oldest) return null;
  return `member ${name} speaks ${rangeOf(other)} and this one ${rangeOf(own)}, which is too far apart: ${wayOut(own, other)}`;
}

/**
 * Whether every one of these members knows the feature. null: one of whom nothing is known at present, who counts as
 * no.
 */
export function everyoneKnows(feature: string, members: Iterable<MemberVersion | null>): boolean {
  return [...members].every((member) => member !== null && member.features.includes(feature));
}

function rangeOf({ protocol, oldest }: MemberVersion): string {
  const release = protocol < FLOOR.protocol ? `of a release before ${FLOOR.release}; ` : '';
  return `protocol ${protocol} (${release}works with ${oldest} and later)`;
}

function wayOut(own: MemberVersion, other: MemberVersion): string {
  if (Math.min(own.protocol, other.protocol) < FLOOR.protocol)
    return `members of before ${FLOOR.release} are not upgraded one by one. Stop all members, then start all of them with the later release; their data stay`;
  return own.protocol > other.protocol
    ? 'upgrade that member to a release in between first'
    : 'this program is too old for the cluster; start it with a later release';
}
