import { isOfSession, STATE_PREFIX } from '../../../shared/cluster-store/entries/members';
import type { SealedClusterStore } from '../../../shared/cluster-store/sealed-cluster-store';
import type { Logger } from '../../../shared/base/logs/logger';
import type { ControllerLeadership } from './controller';

/** The interval between two looks: an operator who changes the secret waits for some of them. */
const CHECK_EVERY_MS = 5_000;

/**
 * Seals the entries of an earlier version, or of the old secret, as long as members may still write them. Only the
 * controller does this. While members change from one secret to the other, two members that disagree on the present one
 * would reseal each other's entries for ever.
 */
export class Sealing {
  private readonly store: SealedClusterStore;
  private readonly leadership: ControllerLeadership;
  private readonly log: Logger;
  private readonly timer: NodeJS.Timeout;
  private running: Promise<void> | null = null;

  constructor(options: { store: SealedClusterStore; leadership: ControllerLeadership; log: Logger }) {
    this.store = options.store;
    this.leadership = options.leadership;
    this.log = options.log;
    this.timer = setInterval(() => this.look(), CHECK_EVERY_MS);
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }

  private look(): void {
    if (this.leadership.guard === null || this.running !== null) return;
    this.running = this.store
      .sealAll(STATE_PREFIX, isOfSession)
      .then((entries) => {
        if (entries > 0) this.log.info({ entries }, 'entries of the cluster store were sealed under CLUSTER_SECRET');
      })
      .catch((error: unknown) =>
        this.log.debug({ error }, 'entries of the cluster store could not be sealed at present'),
      )
      .finally(() => {
        this.running = null;
      });
  }
}
