import {
  GONE_NODES_PREFIX,
  type GoneNode,
  KNOWN_NODES_PREFIX,
  type KnownNode,
  knownOf,
  NODES_PREFIX,
  type NodeMember,
} from '../../../shared/cluster-store/entries/members';
import type { ClusterStore, Guard, StoreChange } from '../../../shared/cluster-store/cluster-store';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import type { ClusterMap } from '../cluster-map';
import type { ControllerLeadership } from './controller';

/** How long a node that is gone and holds nothing is shown as down, unless it was drained. */
export const GONE_KEPT_MS = 24 * 3_600_000;
const EVERY_MS = 1_000;

/**
 * Notes in the cluster store what nodes are, and since when one is away. So every coordinator knows what a node that is
 * away is able to and shows it as down, also one that has never seen it, and a node that holds no shard does not just
 * vanish.
 *
 * What nodes are, every coordinator notes, guarded by the node's entry: one that has seen a node which nobody noted, as
 * those of earlier versions, tells it. The rest is for the controller alone.
 */
export class GoneNodes {
  private readonly timer: NodeJS.Timeout;
  private readonly stopListening: () => void;
  private present = new Map<string, NodeMember>();
  /** Nodes that this process saw go, by id. */
  private readonly gone = new Map<string, GoneNode>();
  private isRunning = false;

  constructor(
    private readonly options: {
      store: ClusterStore;
      map: ClusterMap;
      leadership: ControllerLeadership;
      clock: Clock;
      log: Logger;
    },
  ) {
    this.stopListening = options.map.nodes.onChange(() => this.look());
    this.look();
    this.timer = setInterval(() => {
      if (this.isRunning) return;
      this.isRunning = true;
      void this.note()
        .catch((error: unknown) => options.log.debug({ error }, 'what nodes are could not be noted; it is tried again'))
        .finally(() => (this.isRunning = false));
    }, EVERY_MS);
  }

  close(): void {
    clearInterval(this.timer);
    this.stopListening();
  }

  /** Notes what is to be noted, and forgets what is over. Errors: those of the store. */
  async note(): Promise<void> {
    await this.noteKnown();
    if (this.options.leadership.guard !== null) await this.noteGone();
  }

  private async noteKnown(): Promise<void> {
    const { map, store } = this.options;
    const noted = async (id: string, node: KnownNode, registered: number): Promise<void> => {
      const key = KNOWN_NODES_PREFIX + id;
      const found = map.known.get(key);
      const value = JSON.stringify(knownOf(node));
      // A later version may have noted more.
      if (found !== null && JSON.stringify(knownOf(found.value)) === value) return;
      const guards = [
        { key, revision: found?.revision ?? 0 },
        { key: NODES_PREFIX + id, revision: registered },
      ];
      const result = await store.transact(guards, [{ type: 'put', key, value }]);
      if (result.applied) map.known.put({ key, value, revision: result.revision });
    };
    for (const { value, revision } of map.nodes.all()) await noted(value.id, value, revision);
    for (const id of map.holders()) {
      if (this.present.has(id) || map.known.get(KNOWN_NODES_PREFIX + id) !== null) continue;
      const seen = map.ownSightOf(id);
      if (seen !== null) await noted(id, seen, 0);
    }
  }

  private async noteGone(): Promise<void> {
    const { map, clock } = this.options;
    const holders = map.holders();
    const isOver = ({ id, since }: GoneNode): boolean =>
      !holders.has(id) && clock.wallMs() - Date.parse(since) > GONE_KEPT_MS;
    const noted = async (node: GoneNode, guards: Guard[]): Promise<void> => {
      const key = GONE_NODES_PREFIX + node.id;
      await this.change(
        [{ key, revision: 0 }, { key: NODES_PREFIX + node.id, revision: 0 }, ...guards],
        [{ type: 'put', key, value: JSON.stringify(node) }],
      );
    };
    const isNoted = (id: string): boolean => map.gone.get(GONE_NODES_PREFIX + id) !== null;
    for (const node of this.gone.values()) {
      if (isOver(node)) this.gone.delete(node.id);
      else if (!isNoted(node.id)) await noted(node, []);
    }
    // Those that went while no coordinator looked are away from now on, as far as anybody can tell.
    for (const { key, value, revision } of map.known.all()) {
      if (!this.present.has(value.id) && !this.gone.has(value.id) && !isNoted(value.id))
        await noted(goneOf(value, clock.wallMs()), [{ key, revision }]);
    }
    for (const { key, value, revision } of map.gone.all()) {
      if (this.present.has(value.id)) await this.change([{ key, revision }], [{ type: 'delete', key }]);
      else if (isOver(value)) {
        const known = KNOWN_NODES_PREFIX + value.id;
        const guards = [
          { key, revision },
          { key: NODES_PREFIX + value.id, revision: 0 },
        ];
        await this.change(guards, [
          { type: 'delete', key },
          { type: 'delete', key: known },
        ]);
      }
    }
  }

  private async change(guards: Guard[], changes: StoreChange[]): Promise<void> {
    const { store, leadership, map } = this.options;
    if (leadership.guard === null) return;
    const result = await store.transact([...guards, leadership.guard], changes);
    for (const change of changes)
      if (result.applied && change.type === 'put') map.gone.put({ ...change, revision: result.revision });
  }

  private look(): void {
    const now = new Map(this.options.map.nodes.all().map(({ value }) => [value.id, value]));
    for (const [id, node] of this.present)
      if (!now.has(id)) this.gone.set(id, goneOf(node, this.options.clock.wallMs()));
    for (const id of now.keys()) this.gone.delete(id);
    this.present = now;
  }
}

function goneOf({ id, address, zone, pid }: KnownNode, sinceMs: number): GoneNode {
  return { id, address, zone, pid, since: new Date(sinceMs).toISOString() };
}
