import { SUSPICIONS_PREFIX } from '../../../shared/cluster-store/entries/members';
import { RegisteredEntry } from '../../../shared/cluster-store/entries/registered-entry';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import type { SessionStore } from '../../../shared/cluster-store/session-store';
import type { Logger } from '../../../shared/base/logs/logger';
import type { ClusterMap } from '../cluster-map';
import type { NodeReports } from './node-reports';

/** The interval between two probes of a node. */
const PROBE_EVERY_MS = 500;
/**
 * A node that has not answered for this long is reported as unreachable. This is longer than a stall of its event loop.
 * Together with the time of a promotion, it stays within what clients are promised.
 */
const SUSPECT_AFTER_MS = 2_500;

interface Watched {
  lastAnswerMs: number;
  probing: boolean;
  suspicion: RegisteredEntry | null;
}

/** Probes every node, and writes into the cluster store which of them this coordinator can't reach. */
export class NodeWatch {
  private readonly store: ClusterStore & SessionStore;
  private readonly map: ClusterMap;
  private readonly reports: NodeReports;
  private readonly coordinatorId: string;
  private readonly sessionSeconds: number;
  private readonly log: Logger;
  private readonly nodes = new Map<string, Watched>();
  private readonly timer: NodeJS.Timeout;

  constructor(options: {
    store: ClusterStore & SessionStore;
    map: ClusterMap;
    reports: NodeReports;
    coordinatorId: string;
    sessionSeconds: number;
    log: Logger;
  }) {
    this.store = options.store;
    this.map = options.map;
    this.reports = options.reports;
    this.coordinatorId = options.coordinatorId;
    this.sessionSeconds = options.sessionSeconds;
    this.log = options.log;
    this.timer = setInterval(() => this.look(), PROBE_EVERY_MS);
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all([...this.nodes.values()].map(async ({ suspicion }) => suspicion?.close()));
    this.nodes.clear();
  }

  private look(): void {
    const members = new Map(this.map.nodes.all().map(({ value }) => [value.id, value.address]));
    for (const [id, watched] of this.nodes) {
      if (members.has(id)) continue;
      // The session of the node has ended, so the suspicion is no longer needed.
      void watched.suspicion?.close();
      this.nodes.delete(id);
    }
    for (const [id, address] of members) {
      let watched = this.nodes.get(id);
      if (watched === undefined) {
        watched = { lastAnswerMs: performance.now(), probing: false, suspicion: null };
        this.nodes.set(id, watched);
      }
      if (!watched.probing) void this.probe(id, address, watched);
    }
  }

  private async probe(id: string, address: string, watched: Watched): Promise<void> {
    watched.probing = true;
    const isThere = await this.reports.probe(address);
    watched.probing = false;
    if (this.nodes.get(id) !== watched) return;
    if (isThere) {
      watched.lastAnswerMs = performance.now();
      if (watched.suspicion !== null) this.log.info({ node: id }, 'a node can be reached again');
      void watched.suspicion?.close();
      watched.suspicion = null;
    } else if (watched.suspicion === null && performance.now() - watched.lastAnswerMs > SUSPECT_AFTER_MS) {
      this.log.warn({ node: id }, 'a node can not be reached');
      const { store, coordinatorId, sessionSeconds: ttlSeconds } = this;
      watched.suspicion = new RegisteredEntry({
        store,
        key: `${SUSPICIONS_PREFIX}${id}/${coordinatorId}`,
        value: coordinatorId,
        ttlSeconds,
      });
    }
  }
}
