import { ApiClient } from '../support/targets/api-client';
import { eventually } from '../support/eventually';
import { seededRandom } from '../support/values/random';
import type { History } from './history/history';
import type { Operation } from './history/operation';
import { GROUPS, VALUE_DIM, WORDS } from './history/written-value';
import { RecordingClient } from './recording-client';

export const COLLECTION = 'ledger';
/** Mean pause between a client's operations: a run of half a minute leaves some hundred operations on each id. */
const PAUSE_MS = 15;
/** After an operation that failed or broke off, before the next: a service that is down is not asked without rest. */
const FAILED_PAUSE_MS = 100;
const BATCH_MAX = 8;
/** Longer than any run, so that nothing expires in it. */
const EXPIRES_AFTER_MS = 24 * 3_600_000;
/** Items that everybody wants at once, and how many clients write and read them without a pause. */
const HOT_IDS = 2;
const HOT_CLIENTS = 3;

export interface WorkloadOptions {
  history: History;
  adminKey: string;
  coordinators: () => string[];
  seed: number;
  clients?: number;
  ids?: number;
}

/**
 * Clients that write (also under conditions, under keys, and what expires), delete, read, search, count and export one
 * small collection through coordinators chosen at random, for as long as they run, with everything recorded. Writers
 * share all ids; every value is new.
 */
export class Workload {
  private readonly options: WorkloadOptions;
  private readonly ids: string[];
  private readonly random: () => number;
  private running: Promise<void>[] = [];
  private isStopped = false;
  private values = 0;

  constructor(options: WorkloadOptions) {
    this.options = options;
    this.ids = Array.from({ length: options.ids ?? 48 }, (_, i) => `key/${i}`);
    this.random = seededRandom(options.seed);
  }

  /** Makes the collection and starts the clients. */
  async start(collection: { shards?: number; replicas?: number } = {}): Promise<void> {
    const { coordinators, adminKey, clients = 6 } = this.options;
    const answer = await new ApiClient({ baseUrl: coordinators()[0], adminKey }).post('/v1/collections', {
      name: COLLECTION,
      dim: VALUE_DIM,
      ...collection,
    });
    if (answer.json?.status !== 'success') throw new Error(`the collection could not be made: ${answer.text}`);
    this.running = Array.from({ length: clients }, (_, i) =>
      this.run(`c${i}`, seededRandom(Math.floor(this.random() * 2 ** 31))),
    );
  }

  /**
   * Writes and reads a few items without a pause until there were so many reads, beside the clients that run. Answers
   * what was done.
   */
  async heat(reads: number): Promise<Operation[]> {
    const done: Operation[] = [];
    const ids = this.ids.slice(0, HOT_IDS);
    let left = reads;
    const clients = Array.from({ length: 2 * HOT_CLIENTS }, async (_, i) => {
      const random = seededRandom(Math.floor(this.random() * 2 ** 31));
      const coordinators = this.options.coordinators();
      const client = this.client(`h${i}`, () => coordinators[Math.floor(random() * coordinators.length)]);
      while (left > 0) {
        if (i < HOT_CLIENTS) done.push(await this.hotWrite(client, ids[Math.floor(random() * ids.length)], random()));
        else if (left-- > 0) done.push(await this.hotRead(client, ids, random()));
      }
    });
    await Promise.all(clients);
    return done;
  }

  private hotWrite(client: RecordingClient, id: string, draw: number): Promise<Operation> {
    return draw < 0.15 ? client.delete(id) : client.upsert(id, this.newValue());
  }

  private hotRead(client: RecordingClient, ids: string[], draw: number): Promise<Operation> {
    if (draw < 0.6) return client.get(ids[draw < 0.3 ? 0 : 1]);
    if (draw < 0.8) return client.fetch(ids);
    if (draw < 0.9) return client.scroll();
    return client.export();
  }

  /** Resolves when the last operation has ended. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all(this.running);
  }

  /**
   * Reads everything in every way through every coordinator, once all of that is answered: waits for the service to be
   * able to, up to a minute.
   */
  async settle(): Promise<void> {
    for (const coordinator of this.options.coordinators()) {
      await eventually(`${coordinator} answers every read`, async () =>
        (await this.readAll(coordinator, false)).every(({ outcome }) => outcome === 'ok'),
      );
    }
    for (const coordinator of this.options.coordinators()) await this.readAll(coordinator, true);
  }

  private async readAll(coordinator: string, final: boolean): Promise<Operation[]> {
    const client = this.client(`last-${coordinator.slice(-5)}`, () => coordinator, final);
    const { ids } = this;
    const operations = [
      ...(await client.fetchAll(ids)),
      await client.count(),
      await client.export(),
      await client.scroll(),
      await client.search({ query: 'last', k: ids.length, exact: true }),
    ];
    // The groups are a partition of everything, so what a filter finds is known from the reads without one.
    for (let group = 0; group < GROUPS; group += 1) {
      operations.push(
        await client.scroll(group),
        await client.search({ query: 'last', k: ids.length, exact: true, group }),
      );
    }
    return operations;
  }

  private client(name: string, choose: () => string, final = false): RecordingClient {
    const { history, adminKey } = this.options;
    return new RecordingClient(name, { history, adminKey, collection: COLLECTION, choose, final });
  }

  private async run(name: string, random: () => number): Promise<void> {
    const client = this.client(name, () => {
      const coordinators = this.options.coordinators();
      return coordinators[Math.floor(random() * coordinators.length)];
    });
    while (!this.isStopped) {
      const { outcome } = await this.step(client, random);
      await new Promise((wake) => setTimeout(wake, outcome === 'ok' ? random() * 2 * PAUSE_MS : FAILED_PAUSE_MS));
    }
  }

  private step(client: RecordingClient, random: () => number): Promise<Operation> {
    const draw = random();
    const one = this.ids[Math.floor(random() * this.ids.length)];
    if (draw < 0.13) return client.upsert(one, this.newValue());
    if (draw < 0.16)
      return client.upsert(one, this.newValue(), { expiresAt: new Date(Date.now() + EXPIRES_AFTER_MS).toISOString() });
    if (draw < 0.19) {
      const value = this.newValue();
      return client.upsert(one, value, { key: value });
    }
    if (draw < 0.22) return client.upsertIfUnchanged(one, this.newValue());
    if (draw < 0.3) {
      const ids = this.someIds(random);
      return client.bulkUpsert(
        ids,
        ids.map(() => this.newValue()),
      );
    }
    if (draw < 0.38) return client.delete(one);
    if (draw < 0.42) return client.deleteBatch(this.someIds(random));
    if (draw < 0.66) return client.get(one);
    if (draw < 0.74) return client.fetch(this.someIds(random));
    if (draw < 0.78) return client.count();
    if (draw < 0.82) return client.export();
    if (draw < 0.85) return client.scroll(random() < 0.5 ? undefined : Math.floor(random() * GROUPS));
    const args = {
      query: `q${Math.floor(random() * 1000)}`,
      k: 1 + Math.floor(random() * 12),
      ...(random() < 0.3 ? { group: Math.floor(random() * GROUPS) } : {}),
    };
    if (draw < 0.95) return client.search({ ...args, exact: random() < 0.5 });
    return client.hybrid(
      `${WORDS[Math.floor(random() * WORDS.length)]} ${WORDS[Math.floor(random() * WORDS.length)]}`,
      args,
    );
  }

  private someIds(random: () => number): string[] {
    const rest = [...this.ids];
    return Array.from(
      { length: 1 + Math.floor(random() * BATCH_MAX) },
      () => rest.splice(Math.floor(random() * rest.length), 1)[0],
    );
  }

  private newValue(): string {
    return `v${(this.values += 1)}`;
  }
}
