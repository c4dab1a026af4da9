import { BACKUP_MANIFEST, SHARD_MANIFEST } from '../../../shared/backup-store/content-schemas';
import { TEST_SEALS } from '../../support/cluster/test-seals';
import { RESTORES_PATH, type RestoreRecord, restoreFromEntry } from '../../../coordinator/jobs/backup/backup-record';
import {
  collectionFromEntry,
  COLLECTIONS_PREFIX,
  DROPS_PREFIX,
} from '../../../coordinator/service/collections/collection-record';
import { BACKUPS_PREFIX, contentOf, idOfKey, VOIDS_PREFIX } from '../../../shared/backup-store/backup-format';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { checkHistory } from '../../fault/history/check-history';
import { History, type OperationEnd } from '../../fault/history/history';
import type { Operation } from '../../fault/history/operation';
import type { PlainItem } from '../../support/shards/plain-shard-client';
import { COORDINATED_HAPPENS, CoordinatedWorld, CHECK_MS } from '../resharding/coordinated-world';
import { COLLECTION, IDS, ReshardingClient } from '../resharding/resharding-client';
import type { CoordinatorParts } from '../resharding/simulated-coordinator';
import type { Violation } from '../violation';
import { ArchivingNodes } from './archiving-nodes';
import { MapStore } from './map-store';
import type { RestoreMutant } from './restore-mutants';
import { RestoringClient, STILL } from './restoring-client';
import { readArchive } from './shard-archive';
import { SimulatedTarget, TARGET, TargetObjects, type TargetWeather } from './simulated-target';

const CLIENTS = 2;
const FIRST_SHARDS = 2;
const SHARDS_MAX = 3;
const MADE_MS = 30_000;
const FINAL_MS = 30_000;
/** Of a restored collection, at most. */
const LOST_FOLDERS = 3;
/** Until then it is tried to have a first one, in peace mostly. */
const FIRST_BACKUP_MS = 8_000;
/** Attempts may be half a minute apart, and there may be several after another in vain. */
const HEALED_MS = 240_000;
/** Between two operations on a restored collection. */
const COPY_PAUSE_MS = 400;
/** Backups that are waited for before another is asked for. */
const UNDER_WAY_MAX = 3;
/** What happens to the target, and for how long. */
const TARGET_FAULT_MS = 6_000;
const TARGET_AWAY_MS = 1_000;
/** Of what is written of restores and to the target: that soon after which the driver ends. */
const STRUCK_SHARE = 0.12;
/** What restores may fail for: the backup or the name is somebody else's by then. */
const REASONS = /does not exist any more|already exists/;
/** The same of one that goes on though its target refuses that it is held. */
const UNHELD_REASONS = /there is no backup \S+ any more|is damaged/;

/** What has to happen in a run of many schedules: one in which something never does proves nothing of it. */
export const REQUIRED = [
  ...COORDINATED_HAPPENS,
  ...[
    'restoresDone',
    'restoresFailed',
    'restoresGivenUp',
    'restoredIntoOtherShards',
    'seenCopies',
    'filled',
    'lostFolders',
    'resharded',
  ],
  ...[
    'publishedBackups',
    'failedTargetCalls',
    'lostTargetAnswers',
    'refusedPuts',
    'refusedCreates',
    'sweptObjects',
    'goneOnWhile_running',
  ],
  ...[
    'backup',
    'restore',
    'restore_already_exists',
    'cancel_restore',
    'delete_backup',
    'delete_backup_conflict',
    'delete_copy',
  ],
];

/**
 * A collection that is written and changes its number of shards, and backups of it that are taken, deleted, and
 * restored into other names and numbers of shards, in a simulated cluster: the coordinators' services and the driver of
 * backups as they ship, over simulated nodes, network, store and target. Throws a Violation when anything promised is
 * broken. The same options give the same run. Answers how often what happened.
 */
export async function simulateRestoring(options: {
  seed: number;
  mutant?: RestoreMutant;
}): Promise<Record<string, number>> {
  const world = new RestoreWorld(options.seed, options.mutant);
  try {
    return await world.run();
  } finally {
    world.end();
  }
}

/** A collection that is being restored, or was. */
interface Copy {
  name: string;
  uid: string;
  identity: string;
  restore: string;
  backup: string;
  fromUid: string;
  /** Once clients can see it. */
  seen: { history: History; running: Promise<void> } | null;
  isDeleted: boolean;
}

class RestoreWorld extends CoordinatedWorld {
  private readonly objects = new TargetObjects();
  private readonly weather: TargetWeather = { fails: 0, lostAnswers: 0, isAway: false, isFull: false };
  private readonly still: History;
  private readonly copies = new Map<string, Copy>();
  /** By the id of a restore: its record as it was last, and how it ended. */
  private readonly restores = new Map<string, { record: RestoreRecord; end: 'done' | 'failed' | 'given up' | null }>();
  /** By the id of a backup: ends the read that it is. */
  private readonly promised = new Map<
    string,
    { end: (end: OperationEnd) => Operation; items: Map<string, PlainItem[]> | null }
  >();
  /**
   * Backups that somebody wanted to have deleted; and the state of each that is in the cluster store, 'done' when it
   * was taken out.
   */
  private readonly unwanted = new Set<string>();
  private readonly states = new Map<string, string>();
  private broken: Violation | null = null;
  private isStopped = false;
  private values = 0;

  constructor(
    seed: number,
    private readonly mutant?: RestoreMutant,
  ) {
    super(seed + 99_000_000, { happens: REQUIRED });
    this.still = new History({ nowNanos: () => Math.round(this.schedule.now * 1e6) });
    const { schedule, chance, counts, objects, weather } = this;
    const nodes = new ArchivingNodes({
      ground: this.ground,
      target: { objects, weather, schedule, chance, counts },
      touch: () => this.time.touch(),
      tamper: mutant?.nodes ?? {},
    });
    this.backups = (cell, node, order) => nodes.order(cell, node, order);
    this.ground.fill = (cell, id, filling) => nodes.fill(cell, id, filling);
    objects.onPut = (key, bytes) => this.notePut(key, bytes);
  }

  async run(): Promise<Record<string, number>> {
    const { schedule, time, chance } = this;
    await this.begin();
    const clients = Array.from({ length: CLIENTS }, (_, i) => this.client(`c${i}`, COLLECTION, this.history));
    const still = this.client('s', STILL, this.still);
    await this.within(
      'the collections are made',
      MADE_MS,
      Promise.all([clients[0].make(FIRST_SHARDS), still.make(FIRST_SHARDS)]),
    );
    const filled = Promise.all([still.fill(), clients[0].fill()]);
    // A shard's faults begin soon after it is made. A write is promised to succeed only when they have ended and are
    // healed.
    if (!(await this.isDoneBy(this.ground.faultsUntil, filled))) {
      this.heal();
      await this.within('what stays is written', MADE_MS, filled);
    }
    const stop = (): boolean => this.isStopped;
    const restoring = [0, 1].map(
      () =>
        new RestoringClient({
          ...this.around(),
          copies: () => this.seenCopies(),
          known: () => this.finishedBackups(),
          isBusy: () => [...this.promised.values()].filter(({ items }) => items === null).length >= UNDER_WAY_MAX,
          onDelete: (name) => this.noteDelete(name),
          onDeleteBackup: (id) => void this.unwanted.add(id),
        }),
    );
    while (this.finishedBackups().length === 0 && schedule.now < FIRST_BACKUP_MS) {
      await this.within('a first backup is asked for', MADE_MS, restoring[0].backUp());
      await time.runUntil(schedule.now + FIRST_BACKUP_MS / 4);
    }
    await this.settle();
    const running = [...clients.map((client) => client.run(stop)), ...restoring.map((one) => one.run(stop))];
    // Backups of a collection whose shards are replaced begin again.
    if (chance.happens(0.4))
      running.push(this.client('resharder', COLLECTION, this.history).reshards(SHARDS_MAX, stop));
    this.weather.fails = chance.happens(0.6) ? chance.unit() * 0.03 : 0;
    this.weather.lostAnswers = chance.happens(0.5) ? chance.unit() * 0.03 : 0;
    schedule.after(chance.around(TARGET_FAULT_MS), () => this.troubleTarget());
    await this.runFaults();
    Object.assign(this.weather, { fails: 0, lostAnswers: 0, isAway: false, isFull: false });
    await time.runUntil(schedule.now + 4_000);
    this.isStopped = true;
    await this.within('clients have their last answers', FINAL_MS, Promise.all(running));
    await this.untilHealed();
    await this.within(
      'clients of restored collections have their last answers',
      FINAL_MS,
      Promise.all([...this.copies.values()].flatMap(({ seen }) => (seen === null ? [] : [seen.running]))),
    );
    await this.readAll();
    await this.check();
    return this.counts;
  }

  protected partsOf(given: CoordinatorParts): CoordinatorParts {
    const { schedule, chance, counts, objects, weather, mutant } = this;
    const { process } = given;
    const target = new SimulatedTarget({
      objects,
      weather,
      schedule,
      chance,
      counts,
      send: (deliver) => process.send(TARGET, deliver),
      receive: (act) => process.receive(act),
    });
    return {
      ...given,
      shards: mutant?.shards?.(given.shards) ?? given.shards,
      store: mutant?.store?.(given.store) ?? given.store,
      target: mutant?.target?.(target) ?? target,
    };
  }

  protected override storeSeen(): ClusterStore {
    return new MapStore(this.store, this);
  }

  protected watchStore(): void {
    const { store } = this;
    store.watch(RESTORES_PATH, 0, (events) => {
      for (const event of events)
        this.noteRestore(
          event.key.slice(RESTORES_PATH.length),
          event.type === 'delete' ? null : restoreFromEntry(event),
        );
    });
    store.watch(COLLECTIONS_PREFIX, 0, (events) => {
      for (const event of events) if (event.type === 'put') this.noteCollection(event);
    });
    store.watch('/q/backups/', 0, (events) => {
      for (const event of events)
        this.noteBackup(event.key.slice('/q/backups/'.length), event.type === 'put' ? event.value : null);
    });
    store.watch('/q/reshards/', 0, (events) => {
      for (const event of events)
        if (event.type === 'put' && event.value.includes('"state":"retiring"')) this.counts.resharded += 1;
    });
  }

  private around() {
    const { schedule, chance, counts } = this;
    return { schedule, chance, counts, serving: () => this.serving(), touch: () => this.time.touch() };
  }

  private client(name: string, collection: string, history: History, pauseMs?: number): ReshardingClient {
    return new ReshardingClient(name, {
      ...this.around(),
      history,
      nextValue: () => `v${(this.values += 1)}`,
      collection,
      pauseMs,
    });
  }

  private seenCopies(): string[] {
    return [...this.copies.values()].flatMap(({ name, seen, isDeleted }) =>
      seen !== null && !isDeleted ? [name] : [],
    );
  }

  /** Those that were not deleted by now, the newest first. */
  private finishedBackups(): { id: string; names: string[] }[] {
    const { present } = this.objects;
    return [...present].reverse().flatMap(([key, bytes]) => {
      const id = idOfKey(key, BACKUPS_PREFIX);
      return id === null || present.has(`${VOIDS_PREFIX}${id}.json`)
        ? []
        : [{ id, names: contentOf(BACKUP_MANIFEST, key, bytes).collections.map(({ name }) => name) }];
    });
  }

  private noteDelete(name: string): void {
    for (const copy of this.copies.values()) if (copy.name === name && copy.seen !== null) copy.isDeleted = true;
  }

  private strike(): void {
    const { chance, schedule } = this;
    this.recordStep();
    if (schedule.now < this.ground.faultsUntil && chance.happens(STRUCK_SHARE))
      schedule.after(chance.unit() * 150, () => this.strikeDriver());
  }

  /** A backup is a read of every id, between its call and its end. */
  private noteBackup(id: string, value: string | null): void {
    if (value === null) {
      if (this.states.get(id) === 'running') this.states.set(id, 'done');
      return this.checkStays(id);
    }
    const { state, collections } = JSON.parse(value) as { state: string; collections: string[] | null };
    this.states.set(id, state);
    this.strike();
    if (state !== 'running' || this.promised.has(id) || collections?.includes(COLLECTION) === false) return;
    this.promised.set(id, {
      end: this.history.begin({ client: `backup ${id}`, kind: 'fetch', ids: [...IDS], coordinator: 'http://backup:1' }),
      items: null,
    });
  }

  /** A backup that is done stays until somebody deletes it. */
  private checkStays(id: string): void {
    const isGone = this.objects.present.has(`${VOIDS_PREFIX}${id}.json`);
    if (isGone && this.states.get(id) === 'done' && !this.unwanted.has(id))
      this.breaks(`backup ${id} was done, and is void though nobody deleted it`);
  }

  private notePut(key: string, bytes: Buffer): void {
    const voided = idOfKey(key, VOIDS_PREFIX);
    if (voided !== null) this.checkStays(voided);
    const id = idOfKey(key, BACKUPS_PREFIX);
    if (id === null) return this.strike();
    this.counts.publishedBackups += 1;
    if (!this.objects.ever.get(key)![0].equals(bytes)) this.breaks(`backup ${id} is another one than it was`);
    const manifest = contentOf(BACKUP_MANIFEST, key, bytes);
    const promise = this.promised.get(id);
    if (promise === undefined) return;
    const items = new Map(
      manifest.collections.map(({ uid, shards }) => [
        uid,
        shards.flatMap(({ manifest: shard }) => this.itemsEver(shard.key)),
      ]),
    );
    const found = manifest.collections.find(({ name }) => name === COLLECTION);
    if (promise.items === null && found !== undefined)
      promise.end({
        outcome: 'ok',
        result: {
          items: items
            .get(found.uid)!
            .map(({ externalId, metadata }) => ({ id: externalId, value: valueOf(metadata) })),
        },
      });
    promise.items = items;
  }

  /** What a shard's manifest leads to, whether it is still there or not. */
  private itemsEver(manifest: string): PlainItem[] {
    const { segments } = contentOf(SHARD_MANIFEST, manifest, this.objects.ever.get(manifest)!.at(-1)!);
    return segments.flatMap(({ key }) => JSON.parse(this.objects.ever.get(key)!.at(-1)!.toString()) as PlainItem[]);
  }

  private noteRestore(id: string, record: RestoreRecord | null): void {
    const known = this.restores.get(id);
    this.strike();
    if (record === null) {
      if (known !== undefined && known.end === null) {
        for (const { restore, seen, name } of this.copies.values())
          if (restore === id && seen !== null) this.breaks(`a restore was given up of which "${name}" is seen`);
        known.end = 'given up';
        this.counts.restoresGivenUp += 1;
      }
      return;
    }
    if (known === undefined) {
      this.restores.set(id, { record, end: null });
      for (const { record: value, fromUid } of record.collections) {
        const { name, uid, identity } = collectionFromEntry({ key: '', value });
        this.copies.set(identity, {
          name,
          uid,
          identity,
          restore: id,
          backup: record.backup,
          fromUid,
          seen: null,
          isDeleted: false,
        });
      }
      return;
    }
    if (known.record.state === 'running' && record.state === 'running') this.counts.goneOnWhile_running += 1;
    const isOn = record.state === 'running' || record.state === 'done';
    if (known.record.state === 'cancelling' && isOn)
      this.breaks(`a restore is ${record.state} that was being given up`);
    known.record = record;
    if (record.state === 'failed' && known.end === null) {
      known.end = 'failed';
      this.counts.restoresFailed += 1;
      const isKnown =
        REASONS.test(record.error ?? '') || (this.objects.hasRefusedClaims && UNHELD_REASONS.test(record.error ?? ''));
      if (!isKnown) this.breaks(`a restore failed in peace: ${record.error}`);
    }
    if (record.state === 'done' && known.end === null) {
      known.end = 'done';
      this.counts.restoresDone += 1;
    }
  }

  /** The first time that clients can see a restored collection, it has to be whole. */
  private noteCollection(entry: { key: string; value: string }): void {
    const { identity, state, name, shards } = collectionFromEntry(entry);
    const copy = this.copies.get(identity);
    if (copy === undefined || state !== 'ready' || copy.seen !== null) return;
    const end = this.restores.get(copy.restore)!.end;
    if (end !== null) this.breaks(`"${name}" is seen though its restore is ${end}`);
    this.counts.seenCopies += 1;
    const history = new History({ nowNanos: () => Math.round(this.schedule.now * 1e6) });
    // An export shows them in this order.
    const items = [...this.expected(copy)].sort(
      (one, other) => one.stamp - other.stamp || (one.externalId < other.externalId ? -1 : 1),
    );
    if (items.length > 0) {
      const values = items.map(({ metadata }) => valueOf(metadata));
      history.begin({
        client: 'backup',
        kind: 'bulk_upsert',
        ids: items.map(({ externalId }) => externalId),
        args: { values },
        coordinator: 'http://backup:1',
      })({ outcome: 'ok' });
    }
    if (shards !== this.shardsInBackup(copy)) this.counts.restoredIntoOtherShards += 1;
    this.time.touch();
    const client = this.client(`of ${name}`, name, history, COPY_PAUSE_MS);
    copy.seen = { history, running: client.run(() => this.isStopped || copy.isDeleted) };
    // Data that are lost from here on are more than the backup has.
    for (let i = 0; i < LOST_FOLDERS; i += 1)
      this.schedule.after(this.chance.around(2_500), () => this.loseFolder(copy));
  }

  private expected({ backup, fromUid }: Copy): PlainItem[] {
    const items = this.promised.get(backup)?.items?.get(fromUid);
    if (items !== undefined) return items;
    const manifest = contentOf(
      BACKUP_MANIFEST,
      backup,
      this.objects.ever.get(`${BACKUPS_PREFIX}${backup}.json`)!.at(-1)!,
    );
    return manifest.collections
      .find(({ uid }) => uid === fromUid)!
      .shards.flatMap(({ manifest: shard }) => this.itemsEver(shard.key));
  }

  private shardsInBackup({ backup, fromUid }: Copy): number {
    const manifest = contentOf(
      BACKUP_MANIFEST,
      backup,
      this.objects.ever.get(`${BACKUPS_PREFIX}${backup}.json`)!.at(-1)!,
    );
    return manifest.collections.find(({ uid }) => uid === fromUid)!.shards.length;
  }

  /** The folder of a replica is gone, while others have all of it. */
  private loseFolder(copy: Copy): void {
    const { chance, schedule, counts } = this;
    if (schedule.now > this.ground.faultsUntil) return;
    const cell = chance.pick(
      [...this.cells.values()].filter(({ id, isDropped }) => id.collectionUid === copy.uid && !isDropped),
    );
    if (cell === undefined) return;
    if (cell.loseFolder()) counts.lostFolders += 1;
  }

  private troubleTarget(): void {
    const { chance, schedule, weather } = this;
    if (schedule.now > this.ground.faultsUntil) return;
    const fault = chance.pick(['isAway', 'isFull'] as const);
    weather[fault] = true;
    schedule.after(chance.around(TARGET_AWAY_MS), () => (weather[fault] = false));
    schedule.after(chance.around(TARGET_FAULT_MS), () => this.troubleTarget());
  }

  /** Resolves when nothing is under way, and what was given up is gone. */
  private async untilHealed(): Promise<void> {
    const { schedule, time, store } = this;
    const until = schedule.now + HEALED_MS;
    let left = '';
    while (schedule.now < until) {
      await time.runUntil(schedule.now + CHECK_MS);
      const busy = (
        await Promise.all(
          ['/q/backups/', RESTORES_PATH, '/q/reshards/', DROPS_PREFIX].map((prefix) => store.list(prefix)),
        )
      ).flatMap(({ entries }) => entries);
      const open = busy.filter(({ value }) => !/"state":"(?:failed|done)"/.test(value));
      left = open.map(({ key, value }) => `${key} ${value}`).join('\n');
      if (open.length > 0) {
        for (const coordinator of this.living) void coordinator.recover().catch(() => undefined);
        await time.runUntil(schedule.now + CHECK_MS * 4);
        continue;
      }
      const collections = (await store.list(COLLECTIONS_PREFIX)).entries.map(collectionFromEntry);
      left = '';
      const owned = new Map(collections.map(({ uid, shards }) => [uid, shards]));
      for (const { name, state, identity } of collections) {
        const copy = this.copies.get(identity);
        if (state !== 'ready') left += `"${name}" is ${state}, and nobody makes it\n`;
        else if (name !== COLLECTION && name !== STILL && (copy === undefined || copy.seen === null))
          left += `"${name}" is nobody's\n`;
      }
      for (const [key, { isDropped, id }] of this.cells) {
        const of = owned.get(id.collectionUid);
        if (!isDropped && (of === undefined || id.shard >= of)) left += `shard ${key} is nobody's\n`;
      }
      if (left === '') return;
      for (const coordinator of this.living) void coordinator.recover().catch(() => undefined);
    }
    throw this.violation(`not healed: ${left}`);
  }

  private async readAll(): Promise<void> {
    const all = [
      { name: COLLECTION, history: this.history },
      { name: STILL, history: this.still },
      ...[...this.copies.values()].flatMap(({ name, seen, isDeleted }) =>
        seen === null || isDeleted ? [] : [{ name, history: seen.history }],
      ),
    ];
    for (const coordinator of this.living) {
      for (const { name, history } of all) {
        const client = new ReshardingClient(`last-${coordinator.process.name}`, {
          ...this.around(),
          serving: () => coordinator,
          history,
          nextValue: () => '',
          collection: name,
        });
        await this.within(`a last read of ${name} is answered`, FINAL_MS, client.readAll());
      }
    }
  }

  private async check(): Promise<void> {
    if (this.broken !== null) throw this.broken;
    for (const { end, items } of this.promised.values()) if (items === null) end({ outcome: 'fail' });
    const all: [string, History][] = [
      ['the collection', this.history],
      ['the other one', this.still],
      ...[...this.copies.values()].flatMap(({ name, seen }): [string, History][] =>
        seen === null ? [] : [[name, seen.history]],
      ),
    ];
    for (const [name, { operations }] of all)
      for (const { rule, sentence } of checkHistory(operations, { metric: 'cosine', outcomes: 'retried' }))
        throw this.violation(`${name}: ${rule}: ${sentence}`);
    await this.checkTarget();
  }

  /** Whatever was deleted, what is there can be read. */
  private async checkTarget(): Promise<void> {
    const { present } = this.objects;
    const get = async (key: string): Promise<Buffer | null> => present.get(key) ?? null;
    for (const [key, bytes] of present) {
      const id = idOfKey(key, BACKUPS_PREFIX);
      if (id === null || present.has(`${VOIDS_PREFIX}${id}.json`)) continue;
      for (const { uid } of contentOf(BACKUP_MANIFEST, key, bytes).collections) {
        await readArchive(
          {
            name: '',
            seals: TEST_SEALS,
            get,
            put: async () => undefined,
            create: async () => true,
            list: async () => [],
            delete: async () => undefined,
          },
          { target: '', backup: id, collectionUid: uid, shards: 0 },
          0,
        ).catch((error: Error) => {
          throw this.violation(`backup ${id} is there, but ${error.message}`);
        });
      }
    }
  }

  /** Told at the end: what notices it is called by others. */
  private breaks(sentence: string): void {
    this.broken ??= this.violation(sentence);
  }
}

function valueOf(metadata: string): string {
  return (JSON.parse(metadata) as { v: string }).v;
}
