import { BackupRepository } from '../../coordinator/jobs/backup/backup-repository';
import { RestoreMoment } from '../../coordinator/jobs/restore/restore-moment';
import {
  collectionFromEntry,
  collectionPath,
  type CollectionRecord,
} from '../../coordinator/service/collections/collection-record';
import { RESHARDS_PREFIX } from '../../coordinator/service/collections/reshard-record';
import { isQuiverError } from '../../shared/base/errors/quiver-error';
import type { Clock } from '../../shared/base/time/clock';
import { Pace } from '../../shared/base/time/pace';
import { SettledWrites } from '../../node/replication/settled-writes';
import { eventually } from '../support/eventually';
import { item, newCollection } from '../support/shards/plain-service';
import { runSeed, seededRandom } from '../support/values/random';
import { NO_HURRY, openRocksStore, plainFactories, ShardNode } from '../support/shards/shard-node';
import { ShippingProcess } from '../support/processes/shipping-process';
import { UnsteadyTarget } from '../support/targets/unsteady-target';

/**
 * Random lives of collections whose logs are shipped, through all that ends, renames or begins a log: reshards, also
 * given up, restores, deletions, collections made again under a name, crashes, drivers that are replaced, a target that
 * is away, data that are put back. After each step every moment that is offered is what there was then, and what was
 * offered stays, as long as a backup of before is kept.
 */

const RUNS = Number(process.env.RUNS ?? 1);
const STEPS = Number(process.env.STEPS ?? 36);
const START_MS = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const NAMES = ['a', 'b'];

jest.setTimeout(900_000 * Math.max(1, RUNS));

type Items = Map<string, string>;
type Step = () => Promise<void>;

/** Wall time is what the test says. */
class SetClock implements Clock {
  private nowMs = START_MS;

  wallMs(): number {
    return this.nowMs;
  }

  monotonicMs(): number {
    return performance.now();
  }

  advance(ms: number): void {
    this.nowMs += ms;
  }
}

/** What a name held from a moment on; null: there was no such collection. */
interface Noted {
  ms: number;
  step: number;
  items: Items | null;
}

/** Something of a moment that was offered. */
interface Offered {
  name: string;
  ms: number;
  /** Which step it is of. */
  step: number;
}

class Life {
  readonly counts: Record<string, number> = {};
  private readonly clock = new SetClock();
  private readonly target: UnsteadyTarget;
  private readonly repository: BackupRepository;
  private readonly process: ShippingProcess;
  private readonly timelines = new Map<string, Noted[]>();
  /** All that any name ever held, where clocks are set: then times do not tell of when. */
  private readonly ever = new Map<string, Set<string>>();
  private readonly offered: Offered[] = [];
  /** Backups that are there, the oldest first, with what they hold. */
  private backups: { id: string; step: number; isWhole: boolean; held: Map<string, Items> }[] = [];
  private stepNumber = 0;
  private value = 0;
  private putBack: { data: () => void; ms: number; held: Map<string, Items | null> } | null = null;
  /**
   * Between a copy and when it was put back there are two truths: to the data that are there, what came meanwhile never
   * was.
   */
  private readonly never: { fromMs: number; toMs: number; held: Map<string, Items | null> }[] = [];
  private trace: string[] = [];

  constructor(
    private readonly random: () => number,
    private readonly setsClocks: boolean,
  ) {
    this.target = new UnsteadyTarget(random);
    this.repository = new BackupRepository(this.target, () => this.clock.wallMs());
    this.process = new ShippingProcess({ target: this.target, clock: this.clock });
  }

  async live(): Promise<void> {
    await this.process.start();
    try {
      for (this.stepNumber = 1; this.stepNumber <= STEPS; this.stepNumber += 1) {
        this.clock.advance(1 + this.below(3));
        const [name, step] = this.chosen();
        this.trace.push(`${this.stepNumber} ${this.clock.wallMs() - START_MS}: ${name}`);
        this.counts[name] = (this.counts[name] ?? 0) + 1;
        await step();
        if (this.target.failing === 0) await this.check(2);
      }
      this.target.failing = 0;
      await this.check(Infinity);
    } catch (error) {
      (error as Error).message += `\n${this.trace.join('\n')}`;
      throw error;
    } finally {
      await this.process.end();
    }
  }

  private chosen(): [string, Step] {
    const steps: [number, string, Step][] = [
      [30, 'write', () => this.write()],
      [12, 'ship', () => this.process.ship()],
      [6, 'look', () => this.process.look()],
      [12, 'reshard', () => this.reshard()],
      [4, 'reshards in a row', () => this.reshards()],
      [4, 'reshard given up', () => this.giveUp()],
      [9, 'backup', () => this.backUp()],
      [4, 'backup deleted', () => this.deleteOldest()],
      [5, 'restore into empty', () => this.restoreIntoEmpty()],
      [4, 'restore under a name', () => this.restoreUnder()],
      [4, 'delete', () => this.delete()],
      [3, 'delete and create', () => this.delete().then(() => this.create(this.name()))],
      [3, 'driver replaced', () => this.process.replaceDrivers()],
      [3, 'stop', () => this.restart(true)],
      [4, 'crash', () => this.restart(false)],
      [4, 'target', async () => void (this.target.failing = this.target.failing === 0 ? 1 : 0)],
      [3, 'given up', async () => this.process.giveUp()],
      [3, 'day', async () => this.clock.advance(DAY_MS)],
      ...(this.setsClocks
        ? ([
            [4, 'clock ahead', async () => this.clock.advance(this.random() < 0.5 ? 400 * DAY_MS : 7_200_000)],
            [5, 'clock back', async () => this.clock.advance(this.random() < 0.5 ? -400 * DAY_MS : -7_200_000)],
          ] as [number, string, Step][])
        : ([[4, 'data put back', () => this.backAgain()]] as [number, string, Step][])),
    ];
    let dice = this.random() * steps.reduce((sum, [weight]) => sum + weight, 0);
    const [, name, step] = steps.find(([weight]) => (dice -= weight) < 0)!;
    return [name, step];
  }

  private async write(given?: string): Promise<void> {
    const name = given ?? this.name();
    const now = this.now(name);
    if (now === null) return this.create(name);
    const id = `i${this.below(8)}`;
    const items = new Map(now);
    if (this.random() < 0.25) {
      await this.process.service.vectors.delete(name, [id]);
      items.delete(id);
    } else {
      const metadata = { n: ++this.value };
      await this.process.service.vectors.upsert(name, [item(id, [1, this.value], { metadata })]);
      items.set(id, JSON.stringify(metadata));
    }
    this.note(name, items);
  }

  private async create(name: string): Promise<void> {
    if (this.now(name) !== null) return;
    await this.process.service.collections.create(newCollection(name, { shards: 1 + this.below(2) }));
    this.note(name, new Map());
  }

  private async delete(): Promise<void> {
    const name = this.name();
    if (this.now(name) === null) return;
    await this.process.service.collections.delete(name);
    this.note(name, null);
  }

  private async reshard(): Promise<void> {
    const name = this.name();
    const record = await this.record(name);
    if (record === null) return;
    await this.process.service.collections.reshard(name, (record.shards % 3) + 1);
    // Beside writes, so that some come before and some behind it.
    for (let writes = this.below(6); writes > 0; writes -= 1) {
      this.clock.advance(1 + this.below(2));
      await this.write(name);
      if (this.random() < 0.3) await this.process.look();
    }
    await eventually('the collection has its new shards', async () => (await this.record(name))!.uid !== record.uid);
    await this.settled();
  }

  private async reshards(): Promise<void> {
    const name = this.name();
    for (let turn = 0; turn < 2; turn += 1) {
      const record = await this.record(name);
      if (record === null) return;
      await this.process.service.collections.reshard(name, (record.shards % 3) + 1);
      await eventually('the collection has its new shards', async () => (await this.record(name))!.uid !== record.uid);
      this.clock.advance(1);
      await this.write(name);
    }
    await this.settled();
  }

  private async giveUp(): Promise<void> {
    const name = this.name();
    const record = await this.record(name);
    if (record === null) return;
    await this.process.service.collections.reshard(name, (record.shards % 3) + 1);
    await this.process.service.collections.cancelReshard(name).catch((error: unknown) => {
      if (!isQuiverError(error) || (error.kind !== 'not_found' && error.kind !== 'conflict')) throw error;
    });
    await this.settled();
  }

  private async backUp(): Promise<void> {
    if (this.target.failing > 0) return;
    this.clock.advance(1_000);
    const { backups } = this.process.service;
    const some = this.random() < 0.2 ? NAMES.filter((name) => this.now(name) !== null) : [];
    const { id } = await backups.create(some.length === 0 ? {} : { collections: some });
    await eventually('the backup is there', async () => (await backups.get(id)).state === 'done');
    await this.settled();
    const held = new Map(
      NAMES.flatMap((name): [string, Items][] => (this.now(name) === null ? [] : [[name, this.now(name)!]])),
    );
    this.backups.push({ id, step: this.stepNumber, isWhole: some.length === 0, held });
  }

  /** As a rule does that keeps the newest. */
  private async deleteOldest(): Promise<void> {
    if (this.target.failing > 0 || this.backups.length < 2) return;
    const [{ id }] = this.backups.splice(0, 1);
    await this.process.service.backups.delete(id);
    await this.settled();
  }

  private async restoreIntoEmpty(): Promise<void> {
    const backup = this.backups.at(-1);
    const name = this.name();
    if (this.target.failing > 0 || backup?.held.has(name) !== true || this.now(name) === null) return;
    const ids = [...this.now(name)!.keys()];
    if (ids.length > 0) await this.process.service.vectors.delete(name, ids);
    this.note(name, new Map());
    this.clock.advance(1);
    await this.restored({ backup: backup.id, collections: [name], shards: 1 + this.below(3) });
    this.note(name, backup.held.get(name)!);
  }

  /** In the place of what was there, which is deleted first, or of nothing. */
  private async restoreUnder(): Promise<void> {
    const backup = this.backups.at(-1);
    const name = this.name();
    if (this.target.failing > 0 || backup?.held.has(name) !== true) return;
    if (this.now(name) !== null) {
      await this.process.service.collections.delete(name);
      this.note(name, null);
      this.clock.advance(1);
    }
    await this.restored({ backup: backup.id, collections: [name] });
    this.note(name, backup.held.get(name)!);
  }

  private async restored(input: { backup: string; collections: string[]; shards?: number }): Promise<void> {
    const { backups } = this.process.service;
    const { id } = await backups.restore({ rename: {}, keys: false, ...input });
    await eventually('the restore is over', async () =>
      ['done', 'failed'].includes((await backups.restoreState(id)).state),
    );
    expect(await backups.restoreState(id)).toMatchObject({ state: 'done', error: null });
    await this.settled();
  }

  private async restart(ships: boolean): Promise<void> {
    await this.process.stop(ships);
    await this.process.start();
  }

  /** At first a copy of the data is taken; the next time they become what they were. */
  private async backAgain(): Promise<void> {
    await this.process.stop(true);
    if (this.putBack === null) {
      this.putBack = {
        data: this.process.copy(),
        ms: this.clock.wallMs(),
        held: new Map(NAMES.map((name) => [name, this.now(name)])),
      };
      return void (await this.process.start());
    }
    const { data, ms, held } = this.putBack;
    this.putBack = null;
    this.never.push({ fromMs: ms, toMs: this.clock.wallMs(), held });
    data();
    await this.process.start();
    for (const [name, items] of held) this.note(name, items);
    // From here on what the target has is apart.
    this.target.failing = 0;
    this.clock.advance(1);
    await this.process.ship();
    await this.process.look();
  }

  /** Every moment that is offered is what there was then; `samples`: of so many of them at most. */
  private async check(samples: number): Promise<void> {
    await this.process.ship();
    await this.process.look();
    const rows = (await this.process.service.backups.restorable()).filter(({ from }) => from !== null);
    const spans = rows.map(({ name, from, until }) => ({
      name,
      fromMs: Date.parse(from!),
      untilMs: Date.parse(until!),
    }));
    const kept = Math.min(...this.backups.filter(({ isWhole }) => isWhole).map(({ step }) => step), Infinity);
    for (const one of this.offered) {
      if (this.setsClocks || one.step < kept) continue;
      const isOffered = spans.some(
        ({ name, fromMs, untilMs }) => name === one.name && fromMs <= one.ms && one.ms <= untilMs,
      );
      expect({ ...one, at: one.ms - START_MS, isOffered }).toMatchObject({ isOffered: true });
    }
    const moments = spans.flatMap(({ name, fromMs, untilMs }) =>
      [fromMs, untilMs, Math.floor((fromMs + untilMs) / 2)].map((ms) => ({ name, ms })),
    );
    const seen = moments.filter(() => samples === Infinity || this.random() * moments.length < samples);
    // Those of now are the ones that no check has seen yet.
    if (samples !== Infinity)
      for (const name of NAMES) seen.push(...moments.filter((one) => one.name === name).slice(-2, -1));
    for (const { name, ms } of seen) {
      await this.checkMoment(name, ms);
      this.offered.push({ name, ms, step: this.timelines.get(name)!.findLast((noted) => noted.ms <= ms)?.step ?? 0 });
    }
  }

  private async checkMoment(name: string, ms: number): Promise<void> {
    const found = await this.contentAt(name, ms);
    if (this.setsClocks)
      return expect({ name, ms, was: this.ever.get(name)!.has(textOf(found)) }).toEqual({ name, ms, was: true });
    const others = this.never.filter((one) => one.fromMs <= ms && ms < one.toMs).map(({ held }) => held.get(name));
    if (others.some((items) => items && textOf(items) === textOf(found))) return;
    const expected = this.timelines.get(name)!.findLast((one) => one.ms <= ms)?.items ?? null;
    expect({ name, at: ms - START_MS, items: textOf(found) }).toEqual({
      name,
      at: ms - START_MS,
      items: expected === null ? 'no collection' : textOf(expected),
    });
  }

  private async contentAt(name: string, ms: number): Promise<Items> {
    this.counts.restored = (this.counts.restored ?? 0) + 1;
    const {
      collections: [reached],
    } = await new RestoreMoment(this.repository).find({
      until: new Date(ms).toISOString(),
      collections: [name],
      rename: {},
    });
    const { shards, dim, metric } = collectionFromEntry({ key: '', value: reached.record });
    const backups = {
      open: () => this.target,
      pace: new Pace(Infinity),
      ledger: (stored: Parameters<typeof SettledWrites.load>[0]) => SettledWrites.load(stored),
    };
    const node = await new ShardNode({
      factories: plainFactories,
      openStore: openRocksStore,
      clock: this.clock,
      backups,
    }).start();
    const items: Items = new Map();
    try {
      const seed = {
        target: 'memory',
        backup: reached.base,
        collectionUid: reached.uid,
        shards,
        log: { upTo: reached.upTo },
      };
      for (let shard = 0; shard < shards; shard += 1) {
        const id = { collectionUid: 'new', shard };
        await node.client.make({ ...id, dim, metric, seed });
        for (const { externalId, metadata } of await node.client.read(
          id,
          'scan',
          { after: null, limit: 100, filter: null, vectors: false },
          NO_HURRY,
        ))
          items.set(externalId, metadata);
      }
    } finally {
      await node.destroy();
    }
    return items;
  }

  /** Nothing is under way any more, and what was left is gone. */
  private async settled(): Promise<void> {
    const { store } = this.process;
    await eventually('no reshard is under way', async () => (await store.list(RESHARDS_PREFIX)).entries.length === 0);
    await eventually('no backup is under way', async () => (await store.list('/q/backups/')).entries.length === 0);
    await eventually('no shards are left', async () => (await store.list('/q/collection-drops/')).entries.length === 0);
  }

  private async record(name: string): Promise<CollectionRecord | null> {
    const entry = await this.process.store.get(collectionPath(name));
    return entry === null ? null : collectionFromEntry(entry);
  }

  private now(name: string): Items | null {
    return this.timelines.get(name)?.at(-1)?.items ?? null;
  }

  private note(name: string, items: Items | null): void {
    const timeline = this.timelines.get(name) ?? [];
    timeline.push({ ms: this.clock.wallMs(), step: this.stepNumber, items });
    this.timelines.set(name, timeline);
    this.ever.set(name, (this.ever.get(name) ?? new Set([textOf(new Map())])).add(textOf(items ?? new Map())));
  }

  private name(): string {
    return NAMES[this.below(NAMES.length)];
  }

  private below(limit: number): number {
    return Math.floor(this.random() * limit);
  }
}

function textOf(items: Items): string {
  return JSON.stringify([...items].sort(([a], [b]) => (a < b ? -1 : 1)));
}

describe.each([
  ['clocks that run', false],
  ['clocks that are set', true],
])('%s', (title, setsClocks) => {
  test('every moment that is offered is what there was, and stays until its backups go', async () => {
    const seed = runSeed(title);
    const total: Record<string, number> = {};
    for (let run = 0; run < RUNS; run += 1) {
      const life = new Life(seededRandom(seed + run), setsClocks);
      await life.live().catch((error: unknown) => {
        (error as Error).message += `\nrun ${run}`;
        throw error;
      });
      for (const [what, count] of Object.entries(life.counts)) total[what] = (total[what] ?? 0) + count;
    }
    console.log(JSON.stringify(total));
  });
});
