import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_KEY, ClusterProcesses } from '../../support/processes/cluster-processes';
import { EtcdProcess } from '../../support/processes/etcd-process';
import { eventually } from '../../support/eventually';
import { buildFailingFiles, FailingFiles, type FileMode } from '../../support/shards/failing-files';
import type { MemberProcess } from '../../support/processes/member-process';
import { SmallDisk } from '../../support/machines/small-disk';
import type { Cell } from './cell';
import type { EtcdRow, MemberRow } from './cluster-expectations';
import { type Call, CollectionModel } from './collection-model';
import type { Moment, Outcome } from './expectations';
import { callOf, doneAgain, during, pause, stopInTime } from './service-calls';

const ITEMS = 30;
const STOP_DEADLINE_MS = 180_000;
/** Within which everything goes on by itself when a fault is over. */
const RECOVERY_DEADLINE_MS = 180_000;
const CHECK_MS = 300;
/** Of each call about a file that is slow. */
const SLOW_MS = 10;
const MODES: readonly FileMode[] = ['full', 'error', 'slow'];
/** How often an etcd that is slow stands still, each time for most of that. */
const ETCD_BEAT_MS = 200;
/** Of a start, until it is looked at what a node that may not have ended by then serves. */
const START_MS = 5_000;
/** Moments from which a process goes on. */
const AT_ONCE = ['load', 'search', 'backup', 'reshard'] as const satisfies readonly Moment[];
/** For etcd's own. */
const ETCD_DISK_MIB = 200;

/** A fault that lasts from one call to the other. */
interface Fault {
  begin(): unknown;
  end(): unknown;
}

/**
 * A small cluster of real processes (etcd, three nodes, two coordinators) of which one thing fails, or takes longer,
 * for a while. Each cell has a collection of its own, of one shard and two replicas; the node in question leads it. A
 * fault lasts while loads, searches, a backup and a reshard are under way at once, then while a process stops, and
 * while it starts.
 */
export class FailingCluster {
  private readonly files = new Map<string, FailingFiles>();
  private cluster!: ClusterProcesses;
  private count = 0;

  private constructor(
    private readonly seed: number,
    private readonly folder: string,
    /** Of etcd, where it is to be full; null where this user can't mount one. */
    private readonly etcdDisk: SmallDisk | null,
    private readonly faults: readonly FileMode[],
  ) {}

  /** `state`: that in which etcd is to be tried; null: none. */
  static async make({
    seed,
    faults = MODES,
    state,
  }: {
    seed: number;
    faults?: readonly FileMode[] | undefined;
    state: EtcdRow['state'] | null;
  }): Promise<FailingCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'quiver-matrix-'));
    const library = buildFailingFiles(folder);
    const etcdDisk = state === 'full disk' ? SmallDisk.mount(ETCD_DISK_MIB) : null;
    const made = new FailingCluster(seed, folder, etcdDisk, faults);
    try {
      made.cluster = await ClusterProcesses.start({
        nodes: 3,
        coordinators: 2,
        etcd: await EtcdProcess.start({ parent: etcdDisk?.folder }),
        environment: { BACKUP_TARGET: `file:${join(folder, 'target')}` },
        environmentOf: async (id) => {
          const files = new FailingFiles(library, join(folder, `${id}.state`));
          made.files.set(id, files);
          return files.environment;
        },
      });
    } catch (error) {
      await made.destroy();
      throw error;
    }
    return made;
  }

  async destroy(): Promise<void> {
    await this.cluster?.destroy();
    for (const files of this.files.values()) files.close();
    this.etcdDisk?.unmount();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** All cells of one kind of file of a process, or of a state of etcd. */
  async *cellsOf(row: MemberRow | EtcdRow): AsyncIterable<Cell> {
    if ('state' in row) {
      if (row.state === 'full disk' && this.etcdDisk === null) return;
      yield* this.cellsOfFault({ place: 'etcd', kind: row.kind, fault: row.state }, row.right, () =>
        this.etcdIn(row.state),
      );
      return;
    }
    for (const fault of this.faults)
      yield* this.cellsOfFault({ place: row.place, kind: row.kind, fault }, row.right[fault], (member) =>
        this.failing(row, fault, member),
      );
  }

  /** Those of one fault: all moments that a process goes on from at once, and then its stop and its start. */
  private async *cellsOfFault(
    facts: Pick<Cell, 'place' | 'kind' | 'fault'>,
    right: MemberRow['right'][FileMode],
    faultOf: (member: MemberProcess) => Fault,
  ): AsyncIterable<Cell> {
    const cellOf = (moment: Moment, seen: string): Cell => ({
      ...facts,
      form: 'while it lasts',
      moment,
      expected: right[moment],
      seen,
    });
    const brokenOff = (error: Error): string => `broken off: ${error.message.slice(0, 1500)}`;
    const turns: (readonly Moment[])[] = [AT_ONCE];
    // Nobody starts or stops a target, and etcd's own are states of their own.
    if (facts.place !== 'target') turns.push(['stop'], ['start']);
    for (const moments of turns) {
      let seen = moments.map(() => '');
      try {
        const { member: leader, models } = await this.led(moments.length);
        const member = facts.place === 'coordinator' ? this.cluster.coordinators[1] : leader;
        const fault = faultOf(member);
        const [moment] = moments;
        try {
          seen =
            moment === 'stop' || moment === 'start'
              ? [await this.whole(moment, models[0], member, fault)]
              : await this.meanwhile(moments, models, fault);
        } finally {
          await fault.end();
          if (!member.isRunning) await member.start();
        }
      } catch (error) {
        seen = moments.map(() => brokenOff(error as Error));
      }
      yield* moments.map((moment, m) => cellOf(moment, seen[m]));
      await this.clear();
    }
  }

  /** Collections of one shard and two replicas with some items, that one node leads. */
  private async led(count: number): Promise<{ member: MemberProcess; models: CollectionModel[] }> {
    const { cluster } = this;
    const call = this.callOf();
    await cluster.settled(RECOVERY_DEADLINE_MS);
    const models = Array.from(
      { length: cluster.nodes.length * (count - 1) + 1 },
      () => new CollectionModel(`c-${this.count++}`, this.seed + this.count),
    );
    const leaders = new Map<MemberProcess, CollectionModel[]>();
    for (const model of models) {
      await model.make(call, { shards: 1, replicas: 2 });
      const leader = await cluster.primaryOf(model.name);
      leaders.set(leader, [...(leaders.get(leader) ?? []), model]);
      const enough = [...leaders].find(([, led]) => led.length === count);
      if (enough === undefined) continue;
      const [member, led] = enough;
      for (const one of led) {
        let refusal: string | null = null;
        const isLoaded = async (): Promise<boolean> => (refusal = await one.load(call, ITEMS)) === null;
        await eventually(`${one.name} is loaded`, isLoaded).catch((error: Error) => {
          throw new Error(`${error.message}: ${refusal}`);
        });
      }
      await cluster.settled(RECOVERY_DEADLINE_MS);
      return { member, models: led };
    }
    throw new Error('no node leads as many');
  }

  /** What moments come to that are tried at once, each on a collection of its own. */
  private async meanwhile(
    moments: readonly Moment[],
    models: readonly CollectionModel[],
    fault: Fault,
  ): Promise<string[]> {
    const call = this.callOf();
    await fault.begin();
    const first = await Promise.all(
      moments.map(async (moment, m) => {
        try {
          const failed = await during(call, moment, models[m], this.seed);
          return { failed, isRefused: await this.isRefused(call, models[m]), broken: null };
        } catch (error) {
          return { failed: null, isRefused: false, broken: (error as Error).message };
        }
      }),
    );
    await fault.end();
    return Promise.all(
      moments.map(async (moment, m) => {
        const { failed, isRefused, broken } = first[m];
        if (broken !== null) return broken;
        const late = await this.isRight(call, models[m]);
        if (late !== null) return late;
        const again = failed === null ? null : await doneAgain(call, moment, models[m], this.seed);
        if (again !== null) return `${again} (during it: ${failed})`;
        return isRefused || failed !== null ? 'waits' : 'served';
      }),
    );
  }

  /** What a stop or a start of a process comes to. */
  private async whole(
    moment: 'stop' | 'start',
    model: CollectionModel,
    member: MemberProcess,
    fault: Fault,
  ): Promise<string> {
    const call = this.callOf();
    let outcome: Outcome = 'served';
    if (moment === 'stop') {
      await fault.begin();
      const stopped = await stopInTime(member, STOP_DEADLINE_MS);
      if (stopped !== null && !stopped.startsWith('ended with ')) return `${stopped}: ${member.lastWords.slice(-1000)}`;
      if (await this.isRefused(call, model)) outcome = 'waits';
      await fault.end();
      await member.start();
    } else {
      await member.stop();
      // Another leads, and waits for this one no more: both are decided in etcd.
      const late = await this.isRight(call, model);
      if (late !== null) return `no other leads: ${late}`;
      await fault.begin();
      member.spawn();
      const over = await Promise.race([member.ended().then((code) => ({ code })), pause(START_MS).then(() => null)]);
      if (await this.isRefused(call, model)) outcome = 'waits';
      await fault.end();
      if (over !== null) {
        if (over.code === 0 || member.lastWords.trim() === '') return `ended with ${over.code} without a word`;
        outcome = 'ends';
        member.spawn();
      }
      await member.serves();
    }
    return (await this.isRight(call, model)) ?? outcome;
  }

  /** Whether reads or a write were refused while a fault lasts. Throws where an answer is wrong. */
  private async isRefused(call: Call, model: CollectionModel): Promise<boolean> {
    const refusal = await model.change(call, 3);
    const { wrong, refused } = await model.read(call);
    // No answer in time is as good as a refusal.
    const untrue = wrong.filter((one) => !/: (0 no answer|503|504|429)/.test(one));
    if (untrue.length > 0) throw new Error(`wrong: ${untrue.join('; ')}`);
    return refusal !== null || refused.length > 0 || wrong.length > 0;
  }

  /** Null when everything is answered and right within the time that it may take; else what is not so. */
  private async isRight(call: Call, model: CollectionModel): Promise<string | null> {
    let last = '';
    for (
      const deadline = performance.now() + RECOVERY_DEADLINE_MS;
      performance.now() < deadline;
      await pause(CHECK_MS)
    ) {
      const refusal = await model.change(call, 3);
      const { wrong, refused } = await model.read(call);
      const untrue = wrong.filter((one) => !/: (0 no answer|503|504|429)/.test(one));
      if (untrue.length > 0) return `wrong after the fault: ${untrue.join('; ')}`;
      if (refusal === null && refused.length + wrong.length === 0) return null;
      last = refusal ?? [...refused, ...wrong].join('; ');
    }
    return `does not go on by itself: ${last}`;
  }

  private failing({ place, files: pattern }: MemberRow, mode: FileMode, member: MemberProcess): Fault {
    const target = join(this.folder, 'target');
    const chosen = place === 'target' ? [...this.files.values()] : [this.files.get(member.id) as FailingFiles];
    const paths = pattern.replace('<data>', member.dataDir).replace('<target>', target);
    return {
      begin: () => chosen.forEach((files) => files.begin(mode, paths, { milliseconds: SLOW_MS })),
      end: () => chosen.forEach((files) => files.restore()),
    };
  }

  private etcdIn(state: EtcdRow['state']): Fault {
    const { etcd } = this.cluster;
    let isOver = true;
    const once = (end: () => unknown) => async (): Promise<void> => {
      if (isOver) return;
      isOver = true;
      await end();
    };
    const begin = (act: () => unknown) => async (): Promise<void> => {
      isOver = false;
      await act();
    };
    if (state === 'away') return { begin: begin(() => etcd.kill()), end: once(() => etcd.start()) };
    if (state === 'frozen') return { begin: begin(() => etcd.pause()), end: once(() => etcd.resume()) };
    if (state === 'slow') return this.slowEtcd();
    const again = async (): Promise<void> => {
      await etcd.kill();
      await etcd.start();
    };
    // It ends by the first write that fails.
    if (state === 'error') return { begin: begin(() => etcd.failWrites()), end: once(again) };
    const disk = this.etcdDisk as SmallDisk;
    return {
      begin: begin(() => disk.fill()),
      // It may have ended, as etcd does on a disk that takes nothing.
      end: once(async () => {
        disk.free();
        await again();
      }),
    };
  }

  /** It stands still for three quarters of the time. */
  private slowEtcd(): Fault {
    const { etcd } = this.cluster;
    let timers: NodeJS.Timeout[] = [];
    const beat = (): void => {
      etcd.pause();
      timers[1] = setTimeout(() => etcd.resume(), 0.75 * ETCD_BEAT_MS);
    };
    return {
      begin: () => (timers = [setInterval(beat, ETCD_BEAT_MS)]),
      end: () => {
        for (const timer of timers.splice(0)) clearTimeout(timer);
        etcd.resume();
      },
    };
  }

  private callOf(): Call {
    return callOf({ baseUrl: this.cluster.baseUrl(0), apiKey: API_KEY });
  }

  private async clear(): Promise<void> {
    const call = this.callOf();
    const { data } = await call('GET', '/v1/collections');
    for (const { name } of data?.collections ?? []) await call('DELETE', `/v1/collections/${name}`);
  }
}
