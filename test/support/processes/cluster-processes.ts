import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  collectionFromEntry,
  COLLECTIONS_PREFIX,
  dropFromEntry,
  DROPS_PREFIX,
} from '../../../coordinator/service/collections/collection-record';
import { reshardFromEntry, RESHARDS_PREFIX } from '../../../coordinator/service/collections/reshard-record';
import { EtcdClusterStore } from '../../../shared/cluster-store/etcd/etcd-cluster-store';
import { SealedClusterStore } from '../../../shared/cluster-store/sealed-cluster-store';
import { silentLogger } from '../../../shared/base/logs/logger';
import { EntrySeal } from '../../../shared/base/secret/entry-seal';
import {
  CONTROLLER_PATH,
  COORDINATORS_PREFIX,
  memberFromEntry,
  type NodeMember,
  NODES_PREFIX,
} from '../../../shared/cluster-store/entries/members';
import {
  assignmentFromEntry,
  ASSIGNMENTS_PREFIX,
  type ShardAssignment,
} from '../../../shared/cluster-store/entries/shard-assignment';
import { ApiClient } from '../targets/api-client';
import { buildDiskShim, DiskUnderTest } from '../machines/disk-under-test';
import type { Envelope } from './embedded-process';
import { EtcdCluster, EtcdProcess } from './etcd-process';
import { eventually, PATIENCE_MS } from '../eventually';
import { freePorts } from '../servers/free-ports';
import { MemberProcess, type Release } from './member-process';
import { differencesOf, replicaDigests } from '../shards/replica-digests';
import { TcpProxy } from '../servers/tcp-proxy';
import { DATA_PARENT } from '../memory-folder';

/** Longer than a coordinator takes to give an answer up: a call that hangs is told as such, and not as a slow test. */
const CALL_DEADLINE_MS = PATIENCE_MS;
/** For a fault that may have to be begun some times. */
const SPARED_DEADLINE_MS = 240_000;
/** For what is only told: whoever is asked may be the one that hangs. */
const VIEW_DEADLINE_MS = 5_000;
/** What members show each other. */
export const SECRET = 'secret-of-a-test-cluster';
export const API_KEY = 'test-admin-key';

/** The state of a cluster as `GET /v1/cluster` answers it, as far as tests look at it. */
export interface ClusterView {
  controller: string | null;
  coordinators: { id: string; pid: number }[];
  nodes: {
    id: string;
    pid: number;
    state: 'up' | 'draining' | 'drained' | 'down';
    primaries: number;
    replicas: number;
  }[];
  shards: {
    collection: string;
    shard: number;
    epoch: number;
    primary: string | null;
    in_sync: string[];
    state: 'ok' | 'degraded' | 'unavailable';
  }[];
  /** Of collections that change their number of shards. */
  new_shards: ClusterView['shards'];
  moves: object[];
}

export interface ClusterOptions {
  nodes?: number;
  coordinators?: number;
  replicas?: number;
  shards?: number;
  /**
   * Of each coordinator that serve its API. By default one, the main thread: each further one has a program to load
   * when it starts.
   */
  threads?: number;
  environment?: Record<string, string>;
  /** What one member's environment has over the others'. */
  environmentOf?: (id: string, ports: { rpcPort: number; etcdPort: number }) => Promise<Record<string, string>>;
  /** Puts a proxy before each node's RPC port and one between each node and etcd, so that the ways can be cut. */
  proxied?: boolean;
  /**
   * Puts a proxy between each two nodes, one for each direction of calls, so that two can be parted that others reach.
   */
  parted?: boolean;
  /** Puts something before each node's disk, so that it can be made to hang. */
  disks?: boolean;
  /** How many processes etcd is. */
  etcdMembers?: number;
  /** Of all members, at first. */
  release?: Release;
  /** An etcd that runs already, in their place. */
  etcd?: EtcdProcess;
}

/** The ways of a node that a test can cut. */
export interface NodeWays {
  /** From coordinators and other nodes to the node. */
  in: TcpProxy;
  /** From the node to etcd. */
  etcd: TcpProxy;
}

/** A whole cluster of real processes: etcd, storage nodes and coordinators. */
export class ClusterProcesses {
  readonly nodes: MemberProcess[] = [];
  readonly coordinators: MemberProcess[] = [];
  /** By node id; empty unless `proxied`. */
  readonly ways = new Map<string, NodeWays>();
  /** From the first node to the second, by `<id>><id>`; empty unless `parted`. */
  readonly between = new Map<string, TcpProxy>();
  /** By node id; empty unless `disks`. */
  readonly disks = new Map<string, DiskUnderTest>();
  private diskShim: string | null = null;
  private readonly folder = mkdtempSync(join(DATA_PARENT, 'quiver-cluster-'));

  private constructor(
    readonly etcdMembers: readonly EtcdProcess[],
    private readonly options: ClusterOptions,
  ) {}

  /** etcd, where it is one process; else its first member. */
  get etcd(): EtcdProcess {
    return this.etcdMembers[0];
  }

  /**
   * Resolves when every process is ready and a member, there is a controller, and coordinators that limit nothing say
   * so.
   */
  static async start(options: ClusterOptions = {}): Promise<ClusterProcesses> {
    const { etcdMembers = 1, etcd } = options;
    const cluster = new ClusterProcesses(
      etcd !== undefined
        ? [etcd]
        : etcdMembers === 1
          ? [await EtcdProcess.start()]
          : (await EtcdCluster.start({ size: etcdMembers })).members,
      options,
    );
    try {
      for (let i = 0; i < (options.nodes ?? 3); i += 1) await cluster.addNode();
      for (let i = 0; i < (options.coordinators ?? 2); i += 1) await cluster.addCoordinator();
      if (options.parted) await cluster.part();
      for (const member of [...cluster.nodes, ...cluster.coordinators]) {
        member.release = options.release ?? 'own';
        member.spawn();
      }
      await cluster.allUp();
      if (options.environment?.RATE_LIMIT_PER_MINUTE === undefined) await cluster.settled();
    } catch (error) {
      await cluster.destroy();
      throw error;
    }
    return cluster;
  }

  /** One more node, not yet started. */
  async addNode(environment: Record<string, string> = {}): Promise<MemberProcess> {
    const [rpc, ops] = await freePorts(2);
    const id = `node-${this.nodes.length}`;
    const placed: Record<string, string> = {};
    if (this.options.proxied) {
      const ways = { in: await TcpProxy.start(rpc), etcd: await TcpProxy.start(this.etcd.clientPort) };
      this.ways.set(id, ways);
      placed.ADVERTISE_ADDRESS = ways.in.endpoint;
      placed.ETCD_ENDPOINTS = ways.etcd.endpoint;
    }
    if (this.options.disks) {
      const disk = new DiskUnderTest((this.diskShim ??= buildDiskShim(this.folder)), join(this.folder, `${id}.disk`));
      this.disks.set(id, disk);
      Object.assign(placed, disk.environment);
    }
    const node = new MemberProcess('node', id, rpc, ops, join(this.folder, id), {
      ...(await this.shared(id, rpc, ops)),
      ...placed,
      ...environment,
    });
    this.nodes.push(node);
    return node;
  }

  /** One more coordinator, not yet started. */
  async addCoordinator(environment: Record<string, string> = {}): Promise<MemberProcess> {
    const [port, rpc, ops] = await freePorts(3);
    const id = `coordinator-${this.coordinators.length}`;
    const coordinator = new MemberProcess('coordinator', id, port, ops, join(this.folder, id), {
      ...(await this.shared(id, rpc, ops)),
      PORT: String(port),
      ...environment,
    });
    this.coordinators.push(coordinator);
    return coordinator;
  }

  baseUrl(coordinator = 0): string {
    return `http://127.0.0.1:${this.coordinators[coordinator].port}`;
  }

  /** One call through a coordinator with the admin key; answers the envelope, throws when the connection breaks. */
  async call<Data = any>(
    method: string,
    path: string,
    body?: unknown,
    coordinator = 0,
    deadlineMs = CALL_DEADLINE_MS,
  ): Promise<Envelope<Data>> {
    const client = new ApiClient({ baseUrl: this.baseUrl(coordinator), adminKey: API_KEY });
    const { text } = await client.call({ method, path, body, signal: AbortSignal.timeout(deadlineMs) });
    return JSON.parse(text) as Envelope<Data>;
  }

  /** As `call`, but an error envelope throws. */
  async data<Data = any>(
    method: string,
    path: string,
    body?: unknown,
    coordinator = 0,
    deadlineMs = CALL_DEADLINE_MS,
  ): Promise<Data> {
    const envelope = await this.call<Data>(method, path, body, coordinator, deadlineMs);
    if (envelope.status !== 'success') throw new Error(`${method} ${path}: ${JSON.stringify(envelope.error)}`);
    return envelope.data;
  }

  /**
   * Makes a collection by asking until it is there: a change that met a lost etcd member, or its election, is unknown
   * at first.
   */
  async makeCollection(name: string, coordinator = 0): Promise<void> {
    await eventually(`the collection ${name} is made`, async () => {
      const { status, error } = await this.call('POST', '/v1/collections', { name, dim: 2 }, coordinator);
      return status === 'success' || error?.code === 409;
    });
  }

  /** Resolves when every running process is ready and a member, and one is the controller; asks nothing of the API. */
  async allUp(): Promise<void> {
    const running = [...this.nodes, ...this.coordinators].filter((member) => member.isRunning);
    await Promise.all(running.map((member) => member.serves()));
    const store = this.openStore();
    try {
      await eventually('every process is a member, and one the controller', async () => {
        const listed = await Promise.all([NODES_PREFIX, COORDINATORS_PREFIX].map((prefix) => store.list(prefix)));
        const pids = listed.flatMap(({ entries }) =>
          entries.map(({ value }) => (JSON.parse(value) as { pid: number }).pid),
        );
        return running.every((member) => pids.includes(member.pid)) && (await store.get(CONTROLLER_PATH)) !== null;
      });
    } finally {
      await store.close();
    }
  }

  /** The cluster's state as its members see it; to be closed. */
  openStore(): SealedClusterStore {
    return new SealedClusterStore({
      store: this.openBareStore(),
      seal: new EntrySeal({ secret: SECRET }),
      rule: 'required',
      log: silentLogger,
      onRefused: () => undefined,
    });
  }

  /** What is in etcd, as anybody sees it who can read it; to be closed. */
  openBareStore(): EtcdClusterStore {
    return new EtcdClusterStore({
      endpoints: this.etcdMembers.map(({ endpoint }) => endpoint),
      callTimeoutMs: 60_000,
    });
  }

  /** Of the shards that a collection has now. */
  async uidOf(collection: string): Promise<string> {
    const store = this.openStore();
    try {
      return collectionFromEntry((await store.get(`${COLLECTIONS_PREFIX}${collection}`))!).uid;
    } finally {
      await store.close();
    }
  }

  /** What a coordinator says of the cluster. Throws when it gives no answer. */
  view(coordinator = 0, deadlineMs = CALL_DEADLINE_MS): Promise<ClusterView> {
    return this.data<ClusterView>('GET', '/v1/cluster', undefined, coordinator, deadlineMs);
  }

  /**
   * Resolves when every shard has its replicas in sync and is served, and every running node is a member as the process
   * that it now is, by the word of every running coordinator: a shard whose replica was just killed may look in order
   * for a second.
   */
  async settled(deadlineMs = PATIENCE_MS): Promise<void> {
    for (const [i, coordinator] of this.coordinators.entries()) {
      if (!coordinator.isRunning) continue;
      let last: unknown;
      await eventually(
        `${coordinator.id} says that every node is there and every shard is ok`,
        async () => {
          if (!coordinator.isRunning) return true;
          const view = await this.view(i).catch((error: Error) => {
            last = error.message;
            return null;
          });
          if (view === null) return false;
          last = view;
          return (
            view.controller !== null &&
            this.holdsRunningNodes(view) &&
            view.shards.every(({ state }) => state === 'ok') &&
            view.moves.length === 0
          );
        },
        deadlineMs,
      ).catch((error: Error) => {
        throw new Error(`${error.message}: ${JSON.stringify(last)}`);
      });
    }
  }

  /**
   * The cluster as every running coordinator sees it now, and what every process said of late: the end of the story of
   * a failure.
   */
  async evidence(): Promise<string> {
    const views = await Promise.all(
      this.coordinators.map(async ({ id, isRunning }, i) => {
        if (!isRunning) return `== ${id} does not run`;
        return `== ${id} sees ${await this.view(i, VIEW_DEADLINE_MS).then(
          (view) => JSON.stringify(view),
          (error: Error) => `nothing: ${error.message}`,
        )}`;
      }),
    );
    return [
      ...views,
      ...[...this.nodes, ...this.coordinators].map(
        ({ id, isRunning, lastWords }) => `== ${id}${isRunning ? '' : ' (ended)'} said\n${lastWords}`,
      ),
    ].join('\n');
  }

  /** Makes a node lead a shard of two replicas, of which it has one: the other restarts and hands it over. */
  async leadBy(node: MemberProcess, collection: string, shard = 0): Promise<void> {
    const leads = async (): Promise<boolean> => {
      await this.settled();
      const primary = await this.primaryOf(collection, shard);
      if (primary === node) return true;
      const exitCode = await primary.stop();
      if (exitCode !== 0) throw new Error(`${primary.id} ended with ${exitCode}`);
      await primary.start();
      return false;
    };
    await eventually(`${node.id} leads shard ${shard} of ${collection}`, leads, SPARED_DEADLINE_MS);
  }

  /**
   * Where replicas of a shard hold something different, in sentences; to be asked when it is settled and nothing is
   * written.
   */
  async differences(): Promise<string[]> {
    const store = this.openStore();
    try {
      // By the addresses that the nodes advertise: they show themselves under no other.
      const members = (await store.list(NODES_PREFIX)).entries.map((entry) => memberFromEntry<NodeMember>(entry));
      return differencesOf(await replicaDigests(members, SECRET));
    } finally {
      await store.close();
    }
  }

  /** Sets of shards that are placed, though no collection, reshard or drop has them, by uid. */
  async strays(): Promise<string[]> {
    const store = this.openStore();
    try {
      // What is placed comes first: what has it by then is in the others.
      const placed = (await store.list(ASSIGNMENTS_PREFIX)).entries.map(
        (entry) => assignmentFromEntry(entry).spec.collectionUid,
      );
      const reshards = (await store.list(RESHARDS_PREFIX)).entries
        .map(reshardFromEntry)
        .flatMap(({ from, to, earlier }) => [from, to, ...earlier]);
      const drops = (await store.list(DROPS_PREFIX)).entries.map(dropFromEntry);
      const collections = (await store.list(COLLECTIONS_PREFIX)).entries.map(collectionFromEntry);
      const wanted = new Set([...reshards, ...drops, ...collections].map(({ uid }) => uid));
      return [...new Set(placed)].filter((uid) => !wanted.has(uid));
    } finally {
      await store.close();
    }
  }

  /** The process of the node that leads a shard. */
  async primaryOf(collection: string, shard = 0): Promise<MemberProcess> {
    const { primary } = await this.shardOf(collection, shard);
    const node = this.nodes.find(({ id }) => id === primary);
    if (node === undefined) throw new Error(`shard ${shard} of ${collection} has no primary`);
    return node;
  }

  /** A way of a node in a cluster that is `proxied`. */
  wayOf(nodeId: string, way: keyof NodeWays): TcpProxy {
    const ways = this.ways.get(nodeId);
    if (ways === undefined) throw new Error(`there is no proxy before ${nodeId}`);
    return ways[way];
  }

  /** The disk of a node in a cluster that has `disks`. */
  diskOf(nodeId: string): DiskUnderTest {
    const disk = this.disks.get(nodeId);
    if (disk === undefined) throw new Error(`nothing is before the disk of ${nodeId}`);
    return disk;
  }

  async shardOf(collection: string, shard = 0): Promise<ClusterView['shards'][number]> {
    const { shards } = await this.view();
    const found = shards.find((one) => one.collection === collection && one.shard === shard);
    if (found === undefined) throw new Error(`shard ${shard} of ${collection} is not there: ${JSON.stringify(shards)}`);
    return found;
  }

  /**
   * Begins a fault of a node that leads a shard, and resolves when another leads it. A follower that a busy machine
   * held up for a second is not in sync for the moment, and then no other may lead: the fault ends, and begins again
   * when all is in order.
   */
  async replaced(
    node: MemberProcess,
    collection: string,
    shard: number,
    fault: { begin: () => unknown; end: () => unknown },
  ): Promise<void> {
    const isSettledAnew = async (): Promise<boolean> => {
      await this.settled();
      await fault.begin();
      let isSpared = true;
      const isDecided = async (): Promise<boolean> => {
        const found = await this.shardOf(collection, shard).catch(() => null);
        if (found !== null && found.primary !== null && found.primary !== node.id && found.state !== 'unavailable')
          return true;
        isSpared = await this.isSpared(node);
        return !isSpared;
      };
      await eventually(`another than ${node.id} leads shard ${shard} of ${collection}`, isDecided);
      if (!isSpared) await fault.end();
      return isSpared;
    };
    await eventually('a fault that the cluster can bear', isSettledAnew, SPARED_DEADLINE_MS);
  }

  /** Kills a node at a time when others hold all that it holds, so that its data may go too. */
  async killSpared(node: MemberProcess): Promise<void> {
    const isKilled = async (): Promise<boolean> => {
      await this.settled();
      await node.kill();
      if (await this.staysSpared(node)) return true;
      await node.start();
      return false;
    };
    await eventually(`${node.id} is killed while others are in sync with it`, isKilled, SPARED_DEADLINE_MS);
  }

  /**
   * Whether every shard that a node holds, of those with several replicas, is in sync on another: by etcd, whose word
   * alone counts.
   */
  async isSpared(node: MemberProcess): Promise<boolean> {
    const assignments = await this.assignments();
    return assignments.every(
      ({ replicas, inSync }) =>
        replicas.length === 1 || !replicas.includes(node.id) || inSync.some((replica) => replica.node !== node.id),
    );
  }

  /**
   * Whether that holds of a node that is dead, whatever it asked of etcd before: a change of a shard that it led may be
   * on its way, by which all others leave the in-sync set. What it leads is written as it is, so that such a change
   * comes too late. Nor is it made the primary, alone in sync, while its session goes on: what it is registered by is
   * removed.
   */
  async staysSpared(node: MemberProcess): Promise<boolean> {
    const store = this.openStore();
    try {
      for (const entry of (await store.list(ASSIGNMENTS_PREFIX)).entries) {
        if (assignmentFromEntry(entry).primary?.node !== node.id) continue;
        const { key, revision, value } = entry;
        const { applied } = await store.transact([{ key, revision }], [{ type: 'put', key, value }]);
        if (!applied) return false;
      }
      // After that, because it makes the controller give away what the node leads.
      const member = await store.get(NODES_PREFIX + node.id);
      if (member !== null) {
        const { key, revision } = member;
        const { applied } = await store.transact([{ key, revision }], [{ type: 'delete', key }]);
        if (!applied) return false;
      }
    } finally {
      await store.close();
    }
    return this.isSpared(node);
  }

  /** Resolves when every replica of every shard is in sync, by etcd. */
  inSync(): Promise<void> {
    const isSo = async (): Promise<boolean> => {
      const assignments = await this.assignments().catch(() => null);
      return assignments !== null && assignments.every(({ replicas, inSync }) => inSync.length === replicas.length);
    };
    return eventually('every replica is in sync', isSo);
  }

  /** Ends everything in order; answers the exit codes of what was running. */
  async stop(): Promise<(number | null)[]> {
    const codes: (number | null)[] = [];
    for (const members of [this.coordinators, this.nodes]) {
      codes.push(...(await Promise.all(members.filter((member) => member.isRunning).map((member) => member.stop()))));
    }
    await Promise.all(this.etcdMembers.map((member) => member.stop()));
    return codes;
  }

  /** Ends everything in any state and removes the data. */
  async destroy(): Promise<void> {
    await Promise.all([...this.coordinators, ...this.nodes].map((member) => member.kill()));
    for (const ways of this.ways.values()) await Promise.all([ways.in.close(), ways.etcd.close()]);
    for (const proxy of this.between.values()) await proxy.close();
    await Promise.all(this.etcdMembers.map((member) => member.destroy()));
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async assignments(): Promise<ShardAssignment[]> {
    const store = this.openStore();
    try {
      return (await store.list(ASSIGNMENTS_PREFIX)).entries.map(assignmentFromEntry);
    } finally {
      await store.close();
    }
  }

  private holdsRunningNodes(view: ClusterView): boolean {
    return this.nodes.every(
      (node) =>
        !node.isRunning ||
        view.nodes.some(({ id, pid, state }) => id === node.id && pid === node.pid && state !== 'down'),
    );
  }

  /** A proxy for the calls of each node to each other one. */
  private async part(): Promise<void> {
    for (const from of [...this.nodes, ...this.coordinators]) {
      const routes: Record<string, string> = {};
      for (const to of this.nodes) {
        if (from === to || from.role === 'coordinator') continue;
        const proxy = await TcpProxy.start(to.port);
        this.between.set(`${from.id}>${to.id}`, proxy);
        routes[to.port] = proxy.endpoint.split(':')[1];
      }
      writeFileSync(this.routesOf(from.id), JSON.stringify(routes));
    }
  }

  private routesOf(id: string): string {
    return join(this.folder, `${id}.routes.json`);
  }

  private async shared(id: string, rpcPort: number, opsPort: number): Promise<Record<string, string>> {
    const { replicas = 2, shards = 3, threads = 1, environment = {}, environmentOf } = this.options;
    return {
      NODE_ID: id,
      HOST: '127.0.0.1',
      RPC_PORT: String(rpcPort),
      OPS_PORT: String(opsPort),
      ADVERTISE_ADDRESS: `127.0.0.1:${rpcPort}`,
      ETCD_ENDPOINTS: this.etcdMembers.map(({ endpoint }) => endpoint).join(','),
      CLUSTER_SECRET: SECRET,
      API_KEY,
      DEFAULT_REPLICAS: String(replicas),
      DEFAULT_SHARDS: String(shards),
      EMBEDDING_MODEL: 'builtin',
      RATE_LIMIT_PER_MINUTE: '0',
      BAD_KEY_LIMIT_PER_MINUTE: '0',
      LOG_LEVEL: 'warn',
      HTTP_THREADS: String(threads),
      // As users have it: who answers is what promises about reads are about.
      READ_THREADS: '2',
      ...(this.options.parted
        ? {
            NODE_OPTIONS: `--require ${join(__dirname, '../servers/rerouted-connect.cjs')}`,
            QUIVER_TEST_ROUTES: this.routesOf(id),
          }
        : {}),
      ...environment,
      ...(await environmentOf?.(id, { rpcPort, etcdPort: this.etcd.clientPort })),
    };
  }
}
