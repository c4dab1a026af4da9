import { isOfSession, STATE_PREFIX } from '../../shared/cluster/members';
import type { SealedClusterStore } from '../../shared/cluster-store/sealed-cluster-store';
import type { Logger } from '../../shared/logs/logger';
import type { ControllerOffice } from './controller';

/** Between two looks: an operator who changes the secret waits for some of them. */
const LOOK_EVERY_MS = 5_000;

/**
 * Seals the entries of an earlier version, or of the secret that is being given up, for as long as members may write such
 * ones. The controller alone does it: while members go from one secret to the other, two that disagree on which is the
 * present one would seal each other's entries anew without end.
 */
export class Sealing {
  private readonly store: SealedClusterStore;
  private readonly office: ControllerOffice;
  private readonly log: Logger;
  private readonly timer: NodeJS.Timeout;
  private running: Promise<void> | null = null;

  constructor(options: { store: SealedClusterStore; office: ControllerOffice; log: Logger }) {
    this.store = options.store;
    this.office = options.office;
    this.log = options.log;
    this.timer = setInterval(() => this.look(), LOOK_EVERY_MS);
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }

  private look(): void {
    if (this.office.guard === null || this.running !== null) return;
    this.running = this.store
      .sealAll(STATE_PREFIX, isOfSession)
      .then((entries) => {
        if (entries > 0) this.log.info({ entries }, 'entries of the cluster store were sealed under CLUSTER_SECRET');
      })
      .catch((error: unknown) => this.log.debug({ error }, 'entries of the cluster store could not be sealed at present'))
      .finally(() => {
        this.running = null;
      });
  }
}
