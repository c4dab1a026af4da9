import type { RunningService } from '../../../coordinator/service-factory';
import type { VectorView } from '../../../coordinator/service/service';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import { NO_VERSION } from '../../../shared/contract/shard/shard-client';
import type { History } from '../../fault/history/history';
import {
  mayChange,
  type OperationArguments,
  type OperationKind,
  type OperationResult,
  type SeenItem,
} from '../../fault/history/operation';
import { GROUPS, isVectorOf, metadataOf, VALUE_DIM, vectorOf } from '../../fault/history/written-value';
import { newCollection } from '../../support/shards/plain-service';
import type { Chance } from '../chance';
import type { Schedule } from '../schedule';
import type { SimulatedCoordinator } from './simulated-coordinator';
import { fetched, scrolledPage } from '../../support/http/whole-pages';
import { nearest } from '../../support/stories/search-forms';

export const COLLECTION = 'ledger';
export const IDS = Array.from({ length: 8 }, (_, i) => `id-${i}`);
const EVERYTHING = 1000;
const SCROLL_PAGE = 3;
/** A client's patience: longer than a coordinator takes to give an answer up. */
const CALL_MS = 5_000;
const PAUSE_MS = 150;
/** Between two reshards, at most. */
const PATIENCE_MS = 10_000;
/** Errors after which nothing was, and nothing will be done. Of a write to several shards, a part may be. */
const REFUSALS: ReadonlySet<string> = new Set([
  'unavailable',
  'overloaded',
  'conflict',
  'not_found',
  'already_exists',
  'invalid_parameter',
]);

interface Asked {
  kind: OperationKind;
  ids?: string[];
  args?: OperationArguments;
  run: (service: RunningService) => Promise<OperationResult>;
}

/** A client of the simulated collection, by the coordinators' services, whose every operation is recorded. */
export class ReshardingClient {
  private readonly collection: string;
  private lives = 0;
  private client: string;
  private isFinal = false;
  private readonly ids = IDS;

  constructor(
    private readonly name: string,
    private readonly parts: {
      schedule: Schedule;
      chance: Chance;
      history: History;
      serving: () => SimulatedCoordinator | null;
      nextValue: () => string;
      touch: () => void;
      /** Default: the one that all share. */
      collection?: string;
      /** Mean pause between two operations. */
      pauseMs?: number;
    },
  ) {
    this.client = name;
    this.collection = parts.collection ?? COLLECTION;
  }

  /** Makes the collection. */
  async make(shards: number): Promise<void> {
    for (;;) {
      const service = this.parts.serving()?.service;
      const made = await service?.collections.create(newCollection(this.collection, { dim: VALUE_DIM, shards })).then(
        () => true,
        () =>
          service.collections.get(this.collection).then(
            () => true,
            () => false,
          ),
      );
      if (made === true) return;
      await this.pause(200);
    }
  }

  /** Writes some items that stay as they are, each until that is acknowledged. */
  async fill(): Promise<void> {
    for (const id of this.ids.slice(0, 5)) {
      while (!this.parts.history.operations.some(({ outcome, ids }) => outcome === 'ok' && ids.includes(id)))
        await this.upsert([id]);
    }
  }

  /** Resolves when it has its last answer. */
  async run(isStopped: () => boolean): Promise<void> {
    while (!isStopped()) {
      await this.step();
      await this.pause(this.parts.chance.around(this.parts.pauseMs ?? PAUSE_MS));
    }
  }

  /** Changes the number of shards again and again, and gives some of it up. */
  async reshards(shardsMax: number, isStopped: () => boolean): Promise<void> {
    const { chance } = this.parts;
    while (!isStopped()) {
      const shards = 1 + chance.below(shardsMax);
      await this.ask({
        kind: 'reshard',
        args: { shards },
        run: async ({ collections }) => ({ shards: (await collections.reshard(this.collection, shards)).from }),
      });
      await this.pause(Math.min(PATIENCE_MS, chance.around(3_000)));
      if (chance.happens(0.3))
        await this.ask({
          kind: 'cancel_reshard',
          run: ({ collections }) => collections.cancelReshard(this.collection).then(() => ({})),
        });
    }
  }

  /** Everything in every way. */
  async readAll(): Promise<void> {
    this.isFinal = true;
    await this.fetch(this.ids);
    await this.count();
    await this.export();
    for (const group of [undefined, ...Array.from({ length: GROUPS }, (_, i) => i)]) {
      await this.scroll(group);
      await this.search('last', IDS.length, group);
    }
  }

  private step(): Promise<unknown> {
    const { chance } = this.parts;
    const id = chance.pick(this.ids);
    const draw = chance.unit();
    if (draw < 0.2) return this.upsert([id]);
    if (draw < 0.28) return this.upsert(this.someIds());
    if (draw < 0.4) return this.upsertIf(id);
    if (draw < 0.47) return this.delete([id]);
    if (draw < 0.5) return this.delete(this.someIds());
    if (draw < 0.7) return this.fetch([id]);
    if (draw < 0.75) return this.fetch(this.someIds());
    if (draw < 0.8) return this.count();
    if (draw < 0.85) return this.export();
    if (draw < 0.9) return this.scroll(chance.happens(0.5) ? undefined : chance.below(GROUPS));
    return this.search(
      `q${chance.below(100)}`,
      1 + chance.below(IDS.length),
      chance.happens(0.3) ? chance.below(GROUPS) : undefined,
    );
  }

  private upsert(ids: string[]): Promise<void> {
    const values = ids.map(() => this.parts.nextValue());
    return this.ask({
      kind: ids.length === 1 ? 'upsert' : 'bulk_upsert',
      ids,
      args: { values },
      run: async ({ vectors }) => {
        const items = ids.map((externalId, i) => itemOf(externalId, values[i]));
        return { statuses: (await vectors.upsert(this.collection, items)).statuses as ('inserted' | 'updated')[] };
      },
    });
  }

  /** Only if there is nothing, or only if the item is the one that was read before. */
  private async upsertIf(id: string): Promise<void> {
    const found = await this.fetch([id]);
    if (found === null) return;
    const seen = found.at(0);
    const value = this.parts.nextValue();
    const expected = seen === undefined ? NO_VERSION : seen.version;
    // An item without a version can't be named.
    if (expected === undefined) return;
    await this.ask({
      kind: 'upsert',
      ids: [id],
      args: { values: [value], expects: seen === undefined ? null : valueOf(seen) },
      run: async ({ vectors }) => ({
        statuses: (await vectors.upsert(this.collection, [{ ...itemOf(id, value), expected }])).statuses as (
          | 'inserted'
          | 'updated'
        )[],
      }),
    });
  }

  private delete(ids: string[]): Promise<void> {
    return this.ask({
      kind: ids.length === 1 ? 'delete' : 'delete_batch',
      ids,
      run: async ({ vectors }) => ({ deleted: (await vectors.delete(this.collection, ids)).deleted }),
    });
  }

  /** null: there was no answer. */
  private async fetch(ids: string[]): Promise<VectorView[] | null> {
    let found: VectorView[] | null = null;
    await this.ask({
      kind: ids.length === 1 ? 'get' : 'fetch',
      ids,
      run: async ({ vectors }) => {
        const views = await fetched(vectors.fetch(this.collection, ids, { vectors: true }));
        found = views;
        return { items: views.map(itemSeen) };
      },
    });
    return found;
  }

  private count(): Promise<void> {
    return this.ask({
      kind: 'count',
      run: async ({ collections }) => {
        const { vectorCount, shards } = await collections.get(this.collection);
        return { count: vectorCount, shards };
      },
    });
  }

  private export(): Promise<void> {
    return this.ask({
      kind: 'export',
      run: async ({ vectors }) => {
        const items: SeenItem[] = [];
        for await (const page of (await vectors.export(this.collection, EVERYTHING)).pages)
          items.push(...page.map(itemSeen));
        return { items };
      },
    });
  }

  private scroll(group?: number): Promise<void> {
    return this.ask({
      kind: 'scroll',
      args: group === undefined ? {} : { group },
      run: async ({ vectors }) => {
        const items: SeenItem[] = [];
        let cursor: string | null = null;
        do {
          const page: Awaited<ReturnType<typeof scrolledPage>> = await scrolledPage(
            vectors.scroll(this.collection, { cursor, limit: SCROLL_PAGE, filter: filterOf(group), vectors: true }),
          );
          items.push(...page.vectors.map(itemSeen));
          cursor = page.nextCursor;
        } while (cursor !== null);
        return { items };
      },
    });
  }

  private search(query: string, k: number, group?: number): Promise<void> {
    return this.ask({
      kind: 'search',
      args: { query, k, exact: true, ...(group === undefined ? {} : { group }) },
      run: async ({ search }) => {
        const { hits, totalCount } = await search.search(
          this.collection,
          nearest({
            source: { vector: Float32Array.from(vectorOf(query)) },
            k,
            offset: 0,
            filter: filterOf(group),
            effort: { type: 'exact' },
          }),
        );
        return {
          hits: hits.map(({ externalId, score, metadata }) => ({
            id: externalId,
            score,
            value: (JSON.parse(metadata) as { v: string }).v,
          })),
          count: totalCount!,
        };
      },
    });
  }

  /** Resolves when there is an answer, or the client has lost its patience. */
  private ask({ kind, ids = [], args = {}, run }: Asked): Promise<void> {
    const { schedule, history, serving, touch } = this.parts;
    const coordinator = serving();
    const service = coordinator?.service;
    if (coordinator === null || service === null || service === undefined) return this.pause(100);
    const end = history.begin({
      client: this.client,
      kind,
      ids,
      args,
      coordinator: `http://${coordinator.process.name}:1`,
      final: this.isFinal,
    });
    return new Promise((done) => {
      let isOver = false;
      const finish = (act: () => void): void => {
        if (isOver) return;
        isOver = true;
        act();
        done();
      };
      const lose = (message: string): void => {
        end({ outcome: mayChange(kind) ? 'unknown' : 'fail', message });
        this.client = `${this.name}.${(this.lives += 1)}`;
      };
      schedule.after(CALL_MS, () => {
        touch();
        finish(() => lose('no answer'));
      });
      run(service).then(
        (result) => finish(() => end({ outcome: 'ok', result })),
        (error: unknown) =>
          finish(() => {
            const isRefused =
              isQuiverError(error) && REFUSALS.has(error.kind) && (ids.length <= 1 || error.kind === 'conflict');
            if (!isQuiverError(error)) throw error;
            if (!mayChange(kind) || isRefused) end({ outcome: 'fail', message: error.message });
            else lose(error.message);
          }),
      );
    });
  }

  private pause(ms: number): Promise<void> {
    return new Promise((wake) =>
      this.parts.schedule.after(ms, () => {
        this.parts.touch();
        wake();
      }),
    );
  }

  private someIds(): string[] {
    const rest = [...this.ids];
    return Array.from(
      { length: 2 + this.parts.chance.below(3) },
      () => rest.splice(this.parts.chance.below(rest.length), 1)[0],
    );
  }
}

function itemOf(externalId: string, value: string) {
  return {
    externalId,
    source: { vector: Float32Array.from(vectorOf(value)) },
    metadata: JSON.stringify(metadataOf(value)),
    text: undefined,
  };
}

function filterOf(group?: number) {
  return group === undefined ? null : { type: 'equals' as const, path: 'group', value: group };
}

function valueOf({ metadata }: { metadata: string }): string {
  return (JSON.parse(metadata) as { v: string }).v;
}

function itemSeen(view: VectorView): SeenItem {
  const value = valueOf(view);
  const isTorn = view.vector !== undefined && !isVectorOf(value, [...view.vector]);
  return { id: view.externalId, value, ...(isTorn ? { torn: true as const } : {}) };
}
