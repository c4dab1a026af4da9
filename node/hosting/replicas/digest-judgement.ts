import type { ReplicaDigest } from '../../../shared/cluster-store/entries/node-report';

/** What follows from the digests of a shard's in-sync replicas, all as they are after the same entry. */
export type DigestJudgement =
  | { type: 'same' }
  /** This follower's replica is to be replaced by a copy of the primary's. */
  | { type: 'replace'; node: string }
  /**
   * Others agree with each other against the primary: one of them is to lead, and then replaces what was the primary's.
   */
  | { type: 'handOver'; node: string };

/**
 * The primary's replica counts, unless at least two others hold the same and something else than the primary. With two
 * replicas nobody knows which is right. One replica is replaced at a time, so that as many as possible stay.
 */
export function judgeDigests(own: ReplicaDigest, others: ReadonlyMap<string, ReplicaDigest>): DigestJudgement {
  const nodes = [...others.keys()];
  const differing = nodes.filter((node) => !isSameContent(own, others.get(node)!));
  const [first] = differing;
  if (first === undefined) return { type: 'same' };
  const agreeing = differing.filter((node) => isSameContent(others.get(first)!, others.get(node)!)).length;
  const withPrimary = 1 + nodes.length - differing.length;
  return agreeing > withPrimary ? { type: 'handOver', node: first } : { type: 'replace', node: first };
}

function isSameContent(one: ReplicaDigest, other: ReplicaDigest): boolean {
  return (
    one.items === other.items &&
    one.content === other.content &&
    one.order === other.order &&
    one.sessions === other.sessions
  );
}
