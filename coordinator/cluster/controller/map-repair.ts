import { randomUUID } from 'node:crypto';
import { storeOf } from '../../../shared/cluster-store/entries/members';
import {
  assignmentFromEntry,
  assignmentToValue,
  isLaterAssignment,
  type ShardAssignment,
} from '../../../shared/cluster-store/entries/shard-assignment';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { ClusterMap } from '../cluster-map';
import type { ControllerLeadership } from './controller';
import { decideRepair } from './decide-repair';
import { type AskNode, repliesOn, reportsOf } from './node-reports';

/** Between two attempts. Nodes come back and register one after the other. */
const EVERY_MS = 2_000;

/**
 * A task of the controller: after the cluster store was put back from a backup, it puts the shard map right by what the
 * nodes know, shard by shard, where that is unambiguous. Where it is not, it says why, once, and goes on looking.
 */
export class MapRepair {
  private readonly timer: NodeJS.Timeout;
  private readonly reported = new Map<string, string>();
  private running: Promise<void> | null = null;
  private closed = false;

  constructor(
    private readonly options: {
      store: ClusterStore;
      map: ClusterMap;
      leadership: ControllerLeadership;
      askNode: AskNode;
      log: Logger;
      onRepaired: () => void;
    },
  ) {
    this.timer = setInterval(() => this.look(), EVERY_MS);
  }

  /** Looks now, unless it is doing so already. */
  look(): void {
    if (this.running !== null || this.closed) return;
    this.running = this.repair()
      .catch((error: unknown) => {
        if (!isQuiverError(error)) throw error;
        this.options.log.debug({ error }, 'the shard map could not be repaired; it is tried again');
      })
      .finally(() => {
        this.running = null;
      });
  }

  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.timer);
    await this.running;
  }

  private async repair(): Promise<void> {
    const { map, leadership, log } = this.options;
    const behind = map.behind();
    for (const path of [...this.reported.keys()]) if (!behind.has(path)) this.reported.delete(path);
    if (leadership.guard === null || behind.size === 0) return;
    const reports = await reportsOf(map, this.options.askNode);
    for (const [path, known] of behind) {
      const entry = await this.options.store.get(path);
      if (entry === null || this.closed) continue;
      const found = { assignment: assignmentFromEntry(entry), revision: entry.revision };
      const later = new Map([...known].filter(([, one]) => isLaterAssignment(one, found)));
      if (later.size === 0) continue;
      const { spec } = found.assignment;
      const stores = new Map(map.nodes.all().map(({ value }) => [value.id, storeOf(value, spec)]));
      const repair = decideRepair({ found, known: later, stores, reports: repliesOn(spec, reports) });
      if ('assignment' in repair) await this.make(path, found.revision, repair.assignment);
      else if (this.reported.get(path) !== repair.unclear) {
        this.reported.set(path, repair.unclear);
        log.error(
          { collectionUid: spec.collectionUid, shard: spec.shard, why: repair.unclear },
          'the shard map is earlier than what nodes know of a shard, and what was in force is not clear; nothing is changed about the shard',
        );
      }
    }
  }

  private async make(path: string, revision: number, repaired: ShardAssignment): Promise<void> {
    const { store, map, leadership, log, onRepaired } = this.options;
    if (leadership.guard === null) return;
    const value = assignmentToValue({ ...repaired, changeId: randomUUID() });
    const result = await store.transact(
      [{ key: path, revision }, leadership.guard],
      [{ type: 'put', key: path, value }],
    );
    if (!result.applied) return;
    map.assignments.put({ key: path, value, revision: result.revision });
    onRepaired();
    const { spec, epoch, primary, inSync } = repaired;
    log.warn(
      {
        collectionUid: spec.collectionUid,
        shard: spec.shard,
        epoch,
        primary: primary?.node ?? null,
        inSync: inSync.map(({ node }) => node),
      },
      'the shard map was put right by what the nodes know',
    );
  }
}
