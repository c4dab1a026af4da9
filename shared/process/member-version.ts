/**
 * What members of a cluster tell each other about their programs, so that two versions work together during an upgrade.
 *
 * A **protocol version** rises when members of a release can no longer do without something that the release before did
 * not have. A **feature** is something new that is used only where everybody who is concerned knows it. To add one: a
 * name in FEATURES, and `everyoneKnows` where it is begun to be used. A released name keeps its meaning for ever.
 */
export const FEATURES = [
  /** A node answers with the digest of a replica as it was after a given entry of its log (ReportRequest.at_sequence). */
  'digest-at',
  /** A replica that follows answers reads while it has a share in its primary's lease (ShardAppend.shares_since). */
  'follower-reads',
  /** Shards know stages and take imports (operation-codec.ts, version 2), and collections change their set of shards. */
  'reshard',
  /** Shards count versions of items, and writes have conditions (operation-codec.ts, version 3). */
  'versions',
  /** Shards are written to backups and begin with what one has (ShardSpec.seed). */
  'backup',
  /** Shards begin with what a backup has and the log after it (ShardSeed.log). */
  'backup-log',
  /** A node takes the heartbeats of many quiet shards in one message (AppendFrame.beats). */
  'node-beats',
  /** Shards keep marks of writes that are done once (operation-codec.ts, version 4), and coordinators heed Idempotency-Key. */
  'idempotency',
  /** Items expire, and writes have a moment (operation-codec.ts, version 5). */
  'expiry',
  /** A reshard may have its new shards filled from a backup (ReshardRecord.restored). */
  'restore-into',
  /** A shard is unused until its primary says otherwise (ShardAssignment.unused). */
  'unused-shards',
  /** Ids and metadata of a collection are on the disk (ShardSpec.metadata). Others hold them in memory, and forget what was chosen. */
  'disk-metadata',
  /** The same of the index of the vectors (ShardSpec.vectors). */
  'disk-vectors',
  /** A node tells the beats of shards that nobody reads from those of other quiet ones (Beat.lane). */
  'beat-lanes',
  /** A node takes the replication streams of others on connections that carry frames (NODES_GREETING). */
  'replication-frames',
  /** A node tells the beats of dormant shards from those of others that nobody reads (a third lane). */
  'dormant-shards',
  /** A member takes connections on which the proof comes before HTTP/2 (PROOF_GREETING). */
  'proof-first',
] as const;
export type Feature = (typeof FEATURES)[number];

/**
 * What a member has by its settings. It says so in the handshake alone, beside its features, so only who is connected to it
 * knows: a node gives connections that begin with READS_GREETING to threads that answer reads.
 */
export const READ_THREADS = 'read-threads';
/** The same: these threads also take connections that begin with FRAMES_GREETING, which carry frames (shared/rpc/frame-link.ts). */
export const READ_FRAMES = 'read-frames';

/** The version of a member's program, as other members see it. */
export interface MemberVersion {
  /** The protocol that it speaks. */
  protocol: number;
  /** The oldest protocol of others that it works with; at most `protocol`. */
  oldest: number;
  /** Names of features that it knows; also of some that this program does not know. */
  features: readonly string[];
}

/** The version as registrations in etcd carry it. Without the fields, it is a program of before there were versions. */
export interface VersionFields {
  protocol?: number;
  oldestProtocol?: number;
  features?: string[];
}

/** A program that says nothing about its version. */
export const UNVERSIONED: MemberVersion = { protocol: 1, oldest: 1, features: [] };

/**
 * This program's. Tests put that of an earlier release in its place (test/support/earlier-member.cjs); no setting can.
 */
export const OWN_VERSION: MemberVersion = (globalThis as { quiverMemberVersion?: MemberVersion }).quiverMemberVersion ?? { protocol: 2, oldest: 1, features: FEATURES };

/** What a member registers about itself. One that stands for a program of before there were versions registers nothing. */
export function versionToFields({ protocol, oldest, features }: MemberVersion): VersionFields {
  return protocol === UNVERSIONED.protocol ? {} : { protocol, oldestProtocol: oldest, features: [...features] };
}

export function versionFromFields({ protocol, oldestProtocol, features }: VersionFields): MemberVersion {
  if (!Number.isSafeInteger(protocol)) return UNVERSIONED;
  return { protocol: protocol!, oldest: oldestProtocol ?? protocol!, features: Array.isArray(features) ? features : [] };
}

/** The version as text, for the handshake: `<protocol> <oldest>[ <features, separated by commas>]`. '' stands for UNVERSIONED. */
export function versionToText({ protocol, oldest, features }: MemberVersion): string {
  return protocol === UNVERSIONED.protocol ? '' : [protocol, oldest, ...(features.length > 0 ? [features.join(',')] : [])].join(' ');
}

/** Never fails: what is no version counts as UNVERSIONED. What a later program says besides is left out. */
export function versionFromText(text: string): MemberVersion {
  const [, protocol, oldest, features = ''] = /^(\d{1,9}) (\d{1,9})(?: (\S*)| *$)/.exec(text) ?? [];
  if (protocol === undefined) return UNVERSIONED;
  return { protocol: Number(protocol), oldest: Number(oldest), features: features.split(',').filter((name) => /^[a-z0-9-]+$/.test(name)) };
}

/** Why two members can't work together, in a sentence that names both versions; null if they can. */
export function incompatibilityOf(own: MemberVersion, other: MemberVersion, name: string): string | null {
  if (own.protocol >= other.oldest && other.protocol >= own.oldest) return null;
  const range = ({ protocol, oldest }: MemberVersion): string => `protocol ${protocol} (works with ${oldest} and later)`;
  const advice = own.protocol > other.protocol ? 'upgrade that member to a release in between first' : 'this program is too old for the cluster';
  return `member ${name} speaks ${range(other)} and this one ${range(own)}, which is too far apart: ${advice}`;
}

/** Whether every one of these members knows the feature. null: one of whom nothing is known at present, who counts as no. */
export function everyoneKnows(feature: Feature, members: Iterable<MemberVersion | null>): boolean {
  return [...members].every((member) => member !== null && member.features.includes(feature));
}
