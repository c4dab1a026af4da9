import { type GoneNode, GONE_NODES_PREFIX, NODES_PREFIX, type NodeMember } from '../../shared/cluster/members';
import type { ClusterStore, Guard, StoreChange } from '../../shared/cluster-store/cluster-store';
import type { Logger } from '../../shared/logs/logger';
import type { Clock } from '../../shared/time/clock';
import type { ClusterMap } from './cluster-map';
import type { ControllerOffice } from './controller';

/** How long a node that is gone and holds nothing is shown as down, unless it was drained. */
export const GONE_KEPT_MS = 24 * 3_600_000;
const EVERY_MS = 1_000;

/**
 * A task of the controller: notes in the cluster store since when a node is away, so that every coordinator shows it as
 * down, also one that has never seen it, and a node that holds no shard does not just vanish. Every coordinator watches;
 * only the controller writes.
 */
export class GoneNodes {
  private readonly timer: NodeJS.Timeout;
  private readonly stopListening: () => void;
  private present = new Map<string, NodeMember>();
  /** Nodes that this process saw go, by id. */
  private readonly gone = new Map<string, GoneNode>();
  private isRunning = false;

  constructor(private readonly options: { store: ClusterStore; map: ClusterMap; office: ControllerOffice; clock: Clock; log: Logger }) {
    this.stopListening = options.map.nodes.onChange(() => this.look());
    this.look();
    this.timer = setInterval(() => {
      if (this.isRunning) return;
      this.isRunning = true;
      void this.note()
        .catch((error: unknown) => options.log.debug({ error }, 'nodes that are away could not be noted; it is tried again'))
        .finally(() => (this.isRunning = false));
    }, EVERY_MS);
  }

  close(): void {
    clearInterval(this.timer);
    this.stopListening();
  }

  /** Notes what is to be noted, and forgets what is over, unless another coordinator is the controller. Errors: those of the store. */
  async note(): Promise<void> {
    const { map, clock } = this.options;
    const isOld = ({ since }: GoneNode): boolean => clock.wallMs() - Date.parse(since) > GONE_KEPT_MS;
    for (const [id, node] of this.gone) {
      const key = GONE_NODES_PREFIX + id;
      if (isOld(node)) this.gone.delete(id);
      else if (map.gone.get(key) === null)
        await this.change(
          [
            { key, revision: 0 },
            { key: NODES_PREFIX + id, revision: 0 },
          ],
          { type: 'put', key, value: JSON.stringify(node) },
        );
    }
    for (const { key, value, revision } of map.gone.all()) {
      if (this.present.has(value.id) || isOld(value)) await this.change([{ key, revision }], { type: 'delete', key });
    }
  }

  private async change(guards: Guard[], change: StoreChange): Promise<void> {
    const { store, office, map } = this.options;
    if (office.guard === null) return;
    const result = await store.transact([...guards, office.guard], [change]);
    if (result.applied && change.type === 'put') map.gone.put({ ...change, revision: result.revision });
  }

  private look(): void {
    const now = new Map(this.options.map.nodes.all().map(({ value }) => [value.id, value]));
    const since = new Date(this.options.clock.wallMs()).toISOString();
    for (const [id, { address, zone, pid }] of this.present) if (!now.has(id)) this.gone.set(id, { id, address, zone, pid, since });
    for (const id of now.keys()) this.gone.delete(id);
    this.present = now;
  }
}
