import { readFileSync } from 'node:fs';
import type {
  ClusterUnderTest,
  FailingDisk,
  LinkUnderTest,
  ProcessUnderTest,
} from '../support/processes/cluster-under-test';
import { eventually } from '../support/eventually';

/** A fault that begins, is known to have happened, lasts and ends. */
export interface Fault {
  name: string;
  /** Process or link that it happens to: one fault at a time happens to each. */
  target: string;
  /** What else it happens to, or only one fault at a time may have to do with. */
  apart?: string[];
  inject(): Promise<void>;
  /** Resolves when it has happened for sure; missing: it has once it was injected. */
  waitPropagated?(): Promise<void>;
  heal(): Promise<void>;
  /** Longest time it may last, in milliseconds. */
  lastsMaxMs: number;
}

/** Past every lease and deadline of the protocol: what was paused wakes in another world. */
const PAUSE_MAX_MS = 8_000;
const DOWN_MAX_MS = 6_000;
const LINK_MAX_MS = 6_000;
const LINK_DELAY_MS = 400;
const DISK_MAX_MS = 10_000;
/** What a disk that is worn or shared adds to a sync. */
const DISK_DELAY_MS = 150;
/** Between two faults, and the least that one lasts. */
const GAP_MAX_MS = 1_500;
const LASTS_MIN_MS = 100;
/** Faults at a time, at most. */
const TOGETHER_MAX = 2;

/** Makes faults happen to a running service, one after the other or two at a time, as the seeded `random` says. */
export class Nemesis {
  /** What happened, in order, with the milliseconds from the start. */
  readonly faults: { name: string; fromMs: number; toMs: number }[] = [];
  /** Processes that ended though nobody ended them. */
  readonly deserters: string[] = [];
  private readonly cluster: ClusterUnderTest;
  private readonly random: () => number;
  private readonly startMs = performance.now();

  constructor(options: { cluster: ClusterUnderTest; random: () => number }) {
    this.cluster = options.cluster;
    this.random = options.random;
  }

  /**
   * Lets faults happen for about this long, for as long as `goesOn`, and for longer until there were so many; resolves
   * when all of them are healed.
   */
  async run(
    milliseconds: number,
    { faultsMin = 0, goesOn = () => false }: { faultsMin?: number | undefined; goesOn?: () => boolean } = {},
  ): Promise<void> {
    const busy = new Set<string>();
    const open = new Set<Promise<void>>();
    let failure: { error: unknown } | null = null;
    while (
      (performance.now() - this.startMs < milliseconds || this.faults.length < faultsMin || goesOn()) &&
      failure === null
    ) {
      const free = faultsOf(this.cluster, this.random).filter(
        ({ target, apart = [] }) => !busy.has(target) && !apart.some((one) => busy.has(one)),
      );
      if (open.size < TOGETHER_MAX && free.length > 0) {
        // What fails is drawn before how: a link can fail in more ways than a process.
        const target = this.oneOf([...new Set(free.map((fault) => fault.target))]);
        const fault = this.oneOf(free.filter((one) => one.target === target));
        const held = [fault.target, ...(fault.apart ?? [])];
        for (const one of held) busy.add(one);
        const leftMs = goesOn() ? Infinity : Math.max(0, milliseconds - (performance.now() - this.startMs));
        const lasts = LASTS_MIN_MS + this.random() * Math.min(fault.lastsMaxMs, leftMs);
        const happening: Promise<void> = this.happen(fault, lasts)
          .catch((error: unknown) => void (failure ??= { error }))
          .finally(() => {
            for (const one of held) busy.delete(one);
            open.delete(happening);
          });
        open.add(happening);
      }
      await pause(this.random() * GAP_MAX_MS);
    }
    await Promise.all(open);
    if (failure !== null) throw (failure as { error: unknown }).error;
    await this.recall();
  }

  private oneOf<Thing>(things: Thing[]): Thing {
    return things[Math.floor(this.random() * things.length)];
  }

  private async happen(fault: Fault, lastsMs: number): Promise<void> {
    const entry = { name: fault.name, fromMs: performance.now() - this.startMs, toMs: Infinity };
    this.faults.push(entry);
    await fault.inject();
    await fault.waitPropagated?.();
    await pause(lastsMs);
    await fault.heal();
    entry.toMs = performance.now() - this.startMs;
  }

  /** Names what ended by itself, and starts it again, as whoever runs the service would. */
  private async recall(): Promise<void> {
    for (const process of this.cluster.processes()) {
      if (process.isRunning) continue;
      this.deserters.push(process.id);
      await process.start();
    }
  }
}

/** Every fault that can happen now; of what ended by itself, none. */
export function faultsOf(cluster: ClusterUnderTest, random: () => number): Fault[] {
  const running = cluster.processes().filter(({ isRunning }) => isRunning);
  const ofProcesses = running.flatMap((process) => [killing(process), stopping(process), pausing(process)]);
  const ofData = running.filter(({ role }) => role === 'node').flatMap((process) => losing(process, cluster, random));
  const coordinators = cluster.processes().filter(({ role }) => role === 'coordinator');
  const ofStarts =
    coordinators.length === 0
      ? []
      : running
          .filter(({ role }) => role === 'node')
          .map((node) => losingWhileOthersStart(node, coordinators, cluster.coordinators()));
  return [
    ...ofProcesses,
    ...ofStarts,
    ...ofData,
    ...cluster.links().flatMap(linkFaults),
    ...cluster.disks().flatMap(diskFaults),
  ];
}

/**
 * A node is dead, and all coordinators that run are started again meanwhile: what they have to know of it, they have to
 * know from elsewhere.
 */
function losingWhileOthersStart(node: ProcessUnderTest, coordinators: ProcessUnderTest[], addresses: string[]): Fault {
  return {
    ...killing(node),
    name: `kill -9 ${node.id}, and start the coordinators anew`,
    apart: coordinators.map(({ id }) => id),
    inject: async () => {
      await node.kill();
      const others = coordinators.filter(({ isRunning }) => isRunning);
      await Promise.all(others.map((coordinator) => coordinator.kill()));
      for (const coordinator of others) await coordinator.start();
    },
    // The cluster store may be away meanwhile, for as long as a fault lasts.
    waitPropagated: () =>
      eventually('the coordinators serve', async () => (await Promise.all(addresses.map(serves))).every(Boolean)),
  };
}

function serves(address: string): Promise<boolean> {
  return fetch(address, { signal: AbortSignal.timeout(1_000) }).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** One at a time, and the next when what was lost is in sync again: more than one copy may not be lost. */
function losing(process: ProcessUnderTest, cluster: ClusterUnderTest, random: () => number): Fault[] {
  const { loseShard } = cluster;
  if (loseShard === undefined) return [];
  const fault: Fault = {
    ...killing(process),
    name: `lose a shard of ${process.id}`,
    apart: ['data'],
    inject: () => loseShard(process.id, random()),
    heal: async () => {
      await process.start();
      await cluster.inSync();
    },
  };
  return [fault];
}

function diskFaults(disk: FailingDisk): Fault[] {
  return waysToFail(disk, DISK_MAX_MS, {
    'hang the': () => disk.hang(),
    'slow down the': () => disk.slow(DISK_DELAY_MS),
  });
}

function killing(process: ProcessUnderTest): Fault {
  return {
    name: `kill -9 ${process.id}`,
    target: process.id,
    inject: () => process.kill(),
    heal: () => process.start(),
    lastsMaxMs: DOWN_MAX_MS,
  };
}

function stopping(process: ProcessUnderTest): Fault {
  return { ...killing(process), name: `stop ${process.id}`, inject: () => process.stop() };
}

function pausing(member: ProcessUnderTest): Fault {
  const { pid } = member;
  return {
    name: `pause ${member.id}`,
    target: member.id,
    inject: async () => void process.kill(pid, 'SIGSTOP'),
    // The third field of stat, after the name in brackets; T is stopped.
    waitPropagated: () =>
      eventually(`${member.id} is paused`, () => /\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))),
    heal: async () => void process.kill(pid, 'SIGCONT'),
    lastsMaxMs: PAUSE_MAX_MS,
  };
}

function linkFaults(link: LinkUnderTest): Fault[] {
  return waysToFail(link, LINK_MAX_MS, {
    cut: () => link.cut(),
    silence: () => link.silence(),
    'one way: drop requests': () => link.swallowRequests(),
    'one way: drop answers': () => link.swallowAnswers(),
    'slow down': () => link.slow(LINK_DELAY_MS),
  });
}

/** The faults of a thing that fails in several ways, by what is done to it, until it is restored. */
function waysToFail(
  thing: { name: string; restore(): Promise<void> | void },
  lastsMaxMs: number,
  ways: Record<string, () => Promise<void> | void>,
): Fault[] {
  return Object.entries(ways).map(([way, begin]) => ({
    name: `${way} ${thing.name}`,
    target: thing.name,
    inject: async () => begin(),
    heal: async () => thing.restore(),
    lastsMaxMs,
  }));
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((wake) => setTimeout(wake, milliseconds));
}
