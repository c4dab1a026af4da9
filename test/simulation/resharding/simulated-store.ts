import type { ClusterStore, StoreEvent } from '../../../shared/cluster-store/cluster-store';
import { type ErrorKind, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Chance } from '../chance';
import type { Network } from '../network';
import type { Schedule } from '../schedule';
import { ETCD } from '../simulated-etcd';
import type { SimulatedProcess } from './simulated-process';

const CALL_MS = 1_500;
const BLOCKED_CHECK_MS = 50;

/** The cluster store as one process sees it: late, not at all, or without an answer to what it has changed. */
export class SimulatedStoreClient implements ClusterStore {
  constructor(
    private readonly parts: {
      store: ClusterStore;
      process: SimulatedProcess;
      schedule: Schedule;
      network: Network;
      chance: Chance;
      touch: () => void;
      counts: Record<string, number>;
      /** Probability that an answer is lost. */
      lostAnswers: () => number;
      /** Mean time until it hears of a change. */
      watchMs: number;
    },
  ) {}

  get(key: string): ReturnType<ClusterStore['get']> {
    return this.call(() => this.parts.store.get(key), 'unavailable');
  }

  list(prefix: string): ReturnType<ClusterStore['list']> {
    return this.call(() => this.parts.store.list(prefix), 'unavailable');
  }

  transact(...given: Parameters<ClusterStore['transact']>): ReturnType<ClusterStore['transact']> {
    return this.call(() => this.parts.store.transact(...given), 'commit_unknown');
  }

  watch(prefix: string, afterRevision: number, listener: (events: StoreEvent[]) => void): () => void {
    const { store, process, schedule, network, chance, watchMs } = this.parts;
    const waiting: StoreEvent[][] = [];
    const deliver = (): void => {
      if (network.blocked.has(`${ETCD}>${process.name}`)) return schedule.after(BLOCKED_CHECK_MS, deliver);
      const events = waiting.shift()!;
      process.receive(() => listener(events));
      if (waiting.length > 0) schedule.after(chance.around(3), deliver);
    };
    return store.watch(prefix, afterRevision, (events) => {
      waiting.push(events);
      if (waiting.length === 1) schedule.after(chance.around(watchMs), deliver);
    });
  }

  async close(): Promise<void> {
    // The store is everybody's.
  }

  private call<Result>(run: () => Promise<Result>, lost: ErrorKind): Promise<Result> {
    const { process, schedule, network, chance, touch, counts, lostAnswers } = this.parts;
    return new Promise((resolve, reject) => {
      let isOver = false;
      let isRun = false;
      const end = (act: () => void): void => {
        if (isOver) return;
        process.receive(() => {
          if (isOver) return;
          isOver = true;
          act();
        });
      };
      const answer = (act: () => void): void => {
        if (chance.happens(lostAnswers())) return void (counts.lostStoreAnswers += 1);
        network.send(ETCD, process.name, () => end(act));
      };
      process.send(ETCD, () => {
        if (isRun) return;
        isRun = true;
        touch();
        run().then(
          (result) => answer(() => resolve(result)),
          (error: Error) => answer(() => reject(error)),
        );
      });
      schedule.after(CALL_MS, () => end(() => reject(new QuiverError(lost, 'the simulated store gave no answer'))));
    });
  }
}
