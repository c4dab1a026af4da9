import { ApiClient } from '../support/targets/api-client';
import { eventually } from '../support/eventually';
import type { History } from './history/history';
import { RecordingClient } from './recording-client';
import { COLLECTION } from './workload';

const SHARDS_MAX = 6;
/** Of reshards: those that are given up if they are not over by a moment of the first seconds. */
const CANCELLED_SHARE = 0.3;
const CANCELLED_AFTER_MAX_MS = 3_000;
/** Between two, and before one is asked for again that could not begin. */
const GAP_MAX_MS = 1_500;
const CHECK_EVERY_MS = 200;
const LOOK_TIMEOUT_MS = 5_000;

/** What `GET /v1/cluster` says of a reshard, as far as this looks at it. */
interface ReshardSeen {
  collection: string;
  state: string;
  error: string | null;
}

export interface ReshardingCounts {
  begun: number;
  givenUp: number;
  /** Those that took over, or may have: nobody gave them up. */
  ended: number;
}

/** Changes the number of shards of the workload's collection again and again, up and down, and gives some of it up. */
export class Resharding {
  readonly counts: ReshardingCounts = { begun: 0, givenUp: 0, ended: 0 };
  private readonly client: RecordingClient;
  private running: Promise<void> | null = null;
  private isStopped = false;

  constructor(
    private readonly options: {
      history: History;
      adminKey: string;
      coordinators: () => string[];
      random: () => number;
    },
  ) {
    const { history, adminKey } = options;
    this.client = new RecordingClient('resharder', {
      history,
      adminKey,
      collection: COLLECTION,
      choose: () => this.anywhere(),
    });
  }

  start(): void {
    this.running = this.run();
  }

  /** Resolves when no more are begun; the last one may be under way. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await this.running;
  }

  /**
   * Resolves when none is under way: all have taken over or were given up. Rejects when one failed, or does not end.
   */
  async settle(): Promise<void> {
    let last: ReshardSeen[] = [];
    const isSettled = async (): Promise<boolean> => {
      const found = await this.look();
      last = found ?? last;
      return isOver(found);
    };
    await eventually('no reshard is under way', isSettled).catch((error: Error) => {
      throw new Error(`${error.message}: ${JSON.stringify(last)}`);
    });
    for (const { state, error } of last) if (state !== 'retiring') throw new Error(`a reshard is ${state}: ${error}`);
  }

  private async run(): Promise<void> {
    const { random } = this.options;
    let shards = 0;
    while (!this.isStopped) {
      // Another number than the one before: one that it has already is refused.
      shards = 1 + ((shards + Math.floor(random() * (SHARDS_MAX - 1))) % SHARDS_MAX);
      const cancelMs = random() < CANCELLED_SHARE ? random() * CANCELLED_AFTER_MAX_MS : Infinity;
      const { outcome } = await this.client.reshard(shards);
      if (outcome === 'ok') this.counts.begun += 1;
      // Without a known end it may be under way as well.
      if (outcome !== 'fail') await this.follow(cancelMs);
      await pause(random() * GAP_MAX_MS);
    }
  }

  /** Until it is over, or was given up. */
  private async follow(cancelMs: number): Promise<void> {
    const beganMs = performance.now();
    for (let isGivenUp = false; !this.isStopped; await pause(CHECK_EVERY_MS)) {
      if (!isGivenUp && performance.now() - beganMs >= cancelMs) {
        isGivenUp = (await this.client.cancelReshard()).outcome === 'ok';
        if (isGivenUp) this.counts.givenUp += 1;
      }
      if (!isOver(await this.look())) continue;
      if (!isGivenUp) this.counts.ended += 1;
      return;
    }
  }

  /** null: nobody answered. */
  private async look(): Promise<ReshardSeen[] | null> {
    const client = new ApiClient({ baseUrl: this.anywhere(), adminKey: this.options.adminKey });
    const answer = await client
      .call({ method: 'GET', path: '/v1/cluster', signal: AbortSignal.timeout(LOOK_TIMEOUT_MS) })
      .catch(() => null);
    const reshards = answer?.json?.data?.reshards as ReshardSeen[] | undefined;
    return reshards?.filter(({ collection }) => collection === COLLECTION) ?? null;
  }

  private anywhere(): string {
    const coordinators = this.options.coordinators();
    return coordinators[Math.floor(this.options.random() * coordinators.length)];
  }
}

/** The old shards of one that has taken over stay for a while. */
function isOver(reshards: ReshardSeen[] | null): boolean {
  return (
    reshards !== null && reshards.every(({ state }) => state === 'retiring' || state === 'failed' || state === 'stuck')
  );
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((wake) => setTimeout(wake, milliseconds));
}
