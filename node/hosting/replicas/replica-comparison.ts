import type { Replacement } from '../../../shared/wire/administration';
import { shardKey } from '../../../shared/cluster-store/entries/members';
import type { ReplicaDigest } from '../../../shared/cluster-store/entries/node-report';
import { isSameReplica, type ReplicaId } from '../../../shared/cluster-store/entries/shard-assignment';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import { Pace } from '../../../shared/base/time/pace';
import { judgeDigests } from './digest-judgement';
import type { HostedReplica } from './hosted-replica';

/**
 * All digests of a node together read at most so much. A MiB of items of 800 bytes takes 14 to 18 ms of processor time,
 * so this is about three hundredths of a processor while a comparison runs; a gigabyte takes nine minutes.
 */
const BYTES_PER_SECOND = 2 * 1024 * 1024;
/** How long a replica waits for the entry after which it is to be looked at: followers apply within a heartbeat. */
const WITHIN_MS = 3_000;
/**
 * How many entries after the log's last the replicas are looked at, one after the other until all were there in time:
 * none where nothing is written, and more where much is written, because a question takes its time.
 */
const AHEAD = [0, 64, 1_024, 16_384];
/** How long a successor has to take the lead, as when a node stops: writes wait meanwhile. */
const HAND_OVER_MS = 5_000;
const HAND_OVER_CHECK_MS = 50;
/** How often it is looked whether a shard is due. */
const CHECK_EVERY_MS = 60_000;
/**
 * When a shard whose comparison was skipped is due again, at the latest: what was in the way is most often over soon.
 */
const RETRY_MS = 5 * 60_000;
/** How often it is looked, while others are waited for, whether they still count: they may stay silent for good. */
const OTHERS_CHECK_MS = 5_000;

/**
 * What became of a comparison. `skipped`: a replica is away or does not know it, none is in sync, or one was not there
 * in time. `failed`: this node's replica could not be read.
 */
export type ComparisonOutcome = 'same' | 'different' | 'skipped' | 'failed';

export interface ReplicaComparisonParts {
  nodeId: string;
  /** Between two comparisons of a shard; 0: never. */
  intervalMs: number;
  /** The replicas that are open on this node. */
  open: () => HostedReplica[];
  ask: {
    digestAt(node: string, shard: ShardId, atSequence: number): Promise<ReplicaDigest | null>;
    replace(node: string, replacement: Replacement): Promise<boolean>;
  };
  log: Logger;
  onCompared: (outcome: ComparisonOutcome) => void;
}

/**
 * Compares the in-sync replicas of the shards that this node leads, slowly and one shard after the other, each as it is
 * after the same entry of the log; so what is written meanwhile makes no difference. Equal logs make equal replicas:
 * one that differs was changed by a fault of its disk, memory or program. It is then replaced (see judgeDigests).
 */
export class ReplicaComparison {
  readonly pace = new Pace(BYTES_PER_SECOND);
  private readonly ending = new AbortController();
  private readonly ended = new Promise<false>((done) =>
    this.ending.signal.addEventListener('abort', () => done(false)),
  );
  private readonly timer: NodeJS.Timeout | null;
  /** By shardKey, when the shard is compared next, monotonic. */
  private readonly dueAtMs = new Map<string, number>();
  /** By shardKey, what ends the digest that is being made. */
  private readonly digests = new Map<string, AbortController>();
  private running: Promise<void> | null = null;

  constructor(private readonly parts: ReplicaComparisonParts) {
    const everyMs = Math.min(CHECK_EVERY_MS, parts.intervalMs / 4);
    const look = (): void => {
      this.running ??= this.compareDue().finally(() => {
        this.running = null;
      });
    };
    this.timer = parts.intervalMs === 0 ? null : setInterval(look, everyMs);
  }

  /**
   * The digest of a replica of this node after exactly this entry, for whoever compares it; see RocksReplicaStorage. It
   * ends one of the same shard that is still being made: whoever asked for that asks again, or another leads by now.
   */
  async digestAt(hosted: HostedReplica, atSequence: number, stop: AbortSignal): Promise<ReplicaDigest | null> {
    const key = shardKey(hosted.spec);
    this.digests.get(key)?.abort();
    const next = new AbortController();
    this.digests.set(key, next);
    try {
      return await hosted.digestAt(atSequence, {
        withinMs: WITHIN_MS,
        pace: this.pace,
        stop: AbortSignal.any([this.ending.signal, next.signal, stop]),
      });
    } finally {
      if (this.digests.get(key) === next) this.digests.delete(key);
    }
  }

  async close(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer);
    this.ending.abort();
    await this.running;
  }

  private async compareDue(): Promise<void> {
    const { intervalMs, open, log, onCompared } = this.parts;
    const replicas = open();
    const keys = new Set(replicas.map(({ spec }) => shardKey(spec)));
    for (const key of this.dueAtMs.keys()) if (!keys.has(key)) this.dueAtMs.delete(key);
    for (const hosted of replicas) {
      const key = shardKey(hosted.spec);
      const nowMs = performance.now();
      // The first ones are spread, so that a start does not make all of them due at once.
      if (!this.dueAtMs.has(key)) this.dueAtMs.set(key, nowMs + Math.random() * intervalMs);
      if (this.ending.signal.aborted || this.dueAtMs.get(key)! > nowMs || hosted.replica.status().phase !== 'serving')
        continue;
      // Those before may have taken hours. Asked only of one that is due: there may be thousands.
      if (!open().includes(hosted)) continue;
      this.dueAtMs.set(key, nowMs + intervalMs);
      const outcome = await this.compare(hosted).catch((error: unknown): ComparisonOutcome => {
        // The replica closes, or somebody else asked for a digest of it.
        if (isQuiverError(error) && error.kind === 'unavailable') return 'skipped';
        log.warn({ error, ...shardOf(hosted) }, 'the replicas of a shard could not be compared');
        return 'failed';
      });
      if (outcome === 'skipped') this.dueAtMs.set(key, performance.now() + Math.min(RETRY_MS, intervalMs));
      if (!this.ending.signal.aborted) onCompared(outcome);
    }
  }

  private async compare(hosted: HostedReplica): Promise<ComparisonOutcome> {
    const { epoch } = hosted.replica.status();
    const others = this.followersOf(hosted);
    if (others.length === 0) return 'skipped';
    // What was in sync at first may have been replaced meanwhile.
    const isAsAtFirst = (): boolean =>
      !this.ending.signal.aborted &&
      this.parts.open().includes(hosted) &&
      hosted.replica.status().epoch === epoch &&
      others.every((one) => this.isInSync(hosted, one));
    for (const ahead of AHEAD) {
      const sequence = hosted.replica.status().lastSequence + ahead;
      const found = await this.digestsAt(hosted, others, { sequence, isAsAtFirst });
      if (!isAsAtFirst()) return 'skipped';
      if (found === null) continue;
      return this.conclude(hosted, others, { sequence, epoch, ...found });
    }
    return 'skipped';
  }

  /**
   * The digests of all after exactly this entry; null unless every replica was there in time, and all is as at first.
   */
  private async digestsAt(
    hosted: HostedReplica,
    others: ReplicaId[],
    { sequence, isAsAtFirst }: { sequence: number; isAsAtFirst: () => boolean },
  ): Promise<{ own: ReplicaDigest; digests: Map<string, ReplicaDigest> } | null> {
    const stop = new AbortController();
    const stopped = new Promise<null>((done) => stop.signal.addEventListener('abort', () => done(null)));
    const end = (): void => stop.abort();
    this.ending.signal.addEventListener('abort', end);
    const looking = setInterval(() => isAsAtFirst() || stop.abort(), OTHERS_CHECK_MS);
    try {
      const asked = others.map(async ({ node }) => {
        const digest = await this.parts.ask.digestAt(node, shardOf(hosted), sequence);
        // The own one is of no use then.
        if (digest?.appliedSequence !== sequence) stop.abort();
        return [node, digest] as const;
      });
      const making = this.digestAt(hosted, sequence, stop.signal).catch((error: unknown) => {
        if (stop.signal.aborted) return null;
        throw error;
      });
      // Its disk may hang, and a stop waits for this.
      const own = await Promise.race([making, stopped]);
      if (own?.appliedSequence !== sequence || stop.signal.aborted) return null;
      const all = await Promise.race([Promise.all(asked), stopped]);
      return all === null || stop.signal.aborted
        ? null
        : { own, digests: new Map(all.flatMap(([node, digest]) => (digest === null ? [] : [[node, digest]]))) };
    } finally {
      clearInterval(looking);
      this.ending.signal.removeEventListener('abort', end);
    }
  }

  private async conclude(
    hosted: HostedReplica,
    others: ReplicaId[],
    {
      sequence,
      epoch,
      own,
      digests,
    }: { sequence: number; epoch: number; own: ReplicaDigest; digests: Map<string, ReplicaDigest> },
  ): Promise<ComparisonOutcome> {
    const { log, ask, nodeId } = this.parts;
    const judgement = judgeDigests(own, digests);
    const facts = { ...shardOf(hosted), epoch, atSequence: sequence };
    if (judgement.type === 'same') {
      log.debug(facts, 'the replicas of a shard hold the same');
      return 'same';
    }
    const { node } = judgement;
    log.error(
      { ...facts, digests: { [nodeId]: own, ...Object.fromEntries(digests) } },
      'the replicas of a shard differ after the same entry of its log',
    );
    if (judgement.type === 'handOver') {
      log.error(
        { ...facts, to: node },
        'the other replicas agree against this one: one of them takes the lead, and replaces this one when it compares',
      );
      if (!(await this.handOver(hosted, node)))
        log.error(
          { ...facts, to: node },
          'no other replica took the lead in time: this one goes on, and is compared again',
        );
      return 'different';
    }
    const { store } = others.find((one) => one.node === node)!;
    const isReplaced = await Promise.race([
      ask.replace(node, { shard: shardOf(hosted), epoch, store, atSequence: sequence }),
      this.ended,
    ]);
    if (isReplaced)
      log.error(
        { ...facts, node, store },
        'the replica that differs from the primary is replaced by a copy; its data are kept aside on its node',
      );
    else
      log.error(
        { ...facts, node, store },
        'the replica that differs from the primary was not replaced: its node did not agree; it is compared again',
      );
    return 'different';
  }

  /**
   * Whether this replica leads no more. The successor may be gone before it has everything, so the handover ends in any
   * case.
   */
  private async handOver({ replica }: HostedReplica, to: string): Promise<boolean> {
    const untilMs = performance.now() + HAND_OVER_MS;
    replica.handOver(to);
    try {
      while (replica.status().role === 'primary' && performance.now() < untilMs && !this.ending.signal.aborted) {
        await new Promise((wake) => setTimeout(wake, HAND_OVER_CHECK_MS));
      }
      return replica.status().role !== 'primary';
    } finally {
      replica.cancelHandover();
    }
  }

  /** The other in-sync replicas. */
  private followersOf({ replica }: HostedReplica): ReplicaId[] {
    return (replica.assignment?.inSync ?? []).filter(({ node }) => node !== this.parts.nodeId);
  }

  private isInSync({ replica }: HostedReplica, one: ReplicaId): boolean {
    return replica.assignment?.inSync.some((member) => isSameReplica(member, one)) ?? false;
  }
}

function shardOf({ spec }: HostedReplica): ShardId {
  return { collectionUid: spec.collectionUid, shard: spec.shard };
}
