import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { scrapeConfig } from './scrape-config.mjs';
import { ROOT } from './setup.mjs';

const HOST = '127.0.0.1';
/** Offsets from the first coordinator's port: room for 64 processes of each kind. */
const PORTS = { coordinatorOps: 100, nodeRpc: 200, nodeOps: 300, coordinatorRpc: 400, etcd: 500, etcdPeer: 501 };
const RESTART_AFTER_MS = 2_000;
const READY_WITHIN_MS = 120_000;
/** Longer than the default of SHUTDOWN_TIMEOUT_MS, after which a process ends by itself. */
const STOP_WITHIN_MS = 30_000;

/**
 * @typedef {{ nodes: number, coordinators: number, replicas: number, shards: number, port: number, folder: string,
 * restarts: boolean }} LocalClusterOptions
 */
/**
 * @typedef {object} Member
 * @property {'etcd' | 'node' | 'coordinator'} role
 * @property {string} id
 * @property {number} port
 * @property {number} [opsPort]
 * @property {string} command
 * @property {string[]} words
 * @property {Record<string, string>} environment
 * @property {import('node:child_process').ChildProcess | null} [child] null: it has ended
 * @property {Promise<void>} [ended]
 */

/** etcd, storage nodes and coordinators as processes on this machine. Each writes its log to a file in the folder. */
export class LocalCluster {
  #options;
  #log;
  #folder;
  #apiKey;
  #secret;
  /** @type {Member[]} */
  #members = [];
  #isStopping = false;
  /**
   * Why texts are not compared by meaning, by what coordinators say.
   * @type {Set<string>}
   */
  #modelReasons = new Set();

  /** @param {LocalClusterOptions & { log: (line: string) => void }} parts */
  constructor({ log, ...options }) {
    this.#options = options;
    this.#log = log;
    this.#folder = resolve(options.folder);
    mkdirSync(join(this.#folder, 'logs'), { recursive: true });
    this.#apiKey = process.env.API_KEY || this.#kept('api-key', () => `qv_${randomBytes(24).toString('base64url')}`);
    this.#secret =
      process.env.CLUSTER_SECRET || this.#kept('cluster-secret', () => randomBytes(24).toString('base64url'));
    this.#members = this.#plan();
    writeFileSync(
      this.#scrapeFile,
      scrapeConfig({
        targets: this.#members.flatMap(({ opsPort }) => (opsPort ? [`${HOST}:${opsPort}`] : [])),
        rulesFile: join(ROOT, 'helm', 'files', 'alerts.yaml'),
      }),
    );
  }

  get #scrapeFile() {
    return join(this.#folder, 'prometheus.yml');
  }

  /** Resolves when every coordinator shows every node as up. */
  async start() {
    const [etcd, ...others] = this.#members;
    this.#spawn(etcd);
    await this.#until(async () => (await fetch(`http://${HOST}:${etcd.port}/health`)).ok, 'etcd');
    for (const member of others) this.#spawn(member);
    for (const coordinator of this.#members.filter(({ role }) => role === 'coordinator')) {
      await this.#until(() => this.#showsAllNodes(coordinator), coordinator.id);
      const reason = await this.#modelReason(coordinator);
      if (reason !== null) this.#modelReasons.add(reason);
    }
  }

  /** Asks all that still run to end, at once: for a process that ends without `stop`. */
  signalAll() {
    this.#isStopping = true;
    for (const { child } of this.#members) child?.kill('SIGTERM');
  }

  /** Coordinators stop first, so that clients get answers; etcd stops last. */
  async stop() {
    this.#isStopping = true;
    for (const role of ['coordinator', 'node', 'etcd']) {
      await Promise.all(this.#members.filter((member) => member.role === role).map((member) => this.#end(member)));
    }
  }

  describe() {
    const rows = this.#members.map(
      ({ role, id, port, child }) => `  ${role.padEnd(12)} ${id.padEnd(14)} ${HOST}:${port}   pid ${child?.pid ?? '-'}`,
    );
    const [first] = this.#members.filter(({ role }) => role === 'coordinator');
    return [
      `Quiver cluster in ${this.#folder}`,
      ...rows,
      `It serves on http://${HOST}:${first.port} and through every other coordinator  (explorer: http://${HOST}:${first.port}/docs)`,
      `Dashboard: http://${HOST}:${first.port}/ui`,
      `For its metrics: prometheus --config.file=${this.#scrapeFile} --storage.tsdb.path=${join(this.#folder, 'prometheus')}`,
      process.env.API_KEY ? 'Admin key: that of API_KEY' : `Admin key: ${this.#apiKey}`,
      ...settingNotices(),
      ...[...this.#modelReasons].map((reason) => `Texts are compared by words, not by meaning. ${reason}.`),
    ].join('\n');
  }

  /** @returns {Member[]} */
  #plan() {
    const { port, nodes, coordinators, replicas, shards } = this.#options;
    const etcdPort = port + PORTS.etcd;
    const shared = { ETCD_ENDPOINTS: `http://${HOST}:${etcdPort}`, CLUSTER_SECRET: this.#secret, HOST };
    // Downloaded once for all of them.
    const models = { EMBEDDING_CACHE_DIR: process.env.EMBEDDING_CACHE_DIR || join(this.#folder, 'models') };
    /** @type {Member} */
    const etcd = {
      role: 'etcd',
      id: 'etcd',
      port: etcdPort,
      command: 'etcd',
      words: [
        '--name=etcd',
        `--data-dir=${join(this.#folder, 'etcd')}`,
        '--log-outputs=stderr',
        '--logger=zap',
        `--listen-client-urls=http://${HOST}:${etcdPort}`,
        `--advertise-client-urls=http://${HOST}:${etcdPort}`,
        `--listen-peer-urls=http://${HOST}:${port + PORTS.etcdPeer}`,
        `--initial-advertise-peer-urls=http://${HOST}:${port + PORTS.etcdPeer}`,
        `--initial-cluster=etcd=http://${HOST}:${port + PORTS.etcdPeer}`,
        '--auto-compaction-retention=5m',
      ],
      environment: {},
    };
    /**
     * @type {<Role extends 'node' | 'coordinator'>(role: Role, id: string, own: Record<string, string>) => Omit<Member,
     * 'port'>}
     */
    const quiver = (role, id, own) => ({
      role,
      id,
      command: process.execPath,
      words: [join(ROOT, 'scripts', 'quiver.cjs'), role],
      environment: { ...shared, NODE_ID: id, DATA_DIR: join(this.#folder, id), ...own },
    });
    return [
      etcd,
      ...Array.from({ length: nodes }, (_, i) => {
        const rpcPort = port + PORTS.nodeRpc + i;
        return {
          ...quiver('node', `node-${i}`, {
            RPC_PORT: String(rpcPort),
            OPS_PORT: String(port + PORTS.nodeOps + i),
            ADVERTISE_ADDRESS: `${HOST}:${rpcPort}`,
          }),
          port: rpcPort,
          opsPort: port + PORTS.nodeOps + i,
        };
      }),
      ...Array.from({ length: coordinators }, (_, i) => {
        const rpcPort = port + PORTS.coordinatorRpc + i;
        return {
          ...quiver('coordinator', `coordinator-${i}`, {
            PORT: String(port + i),
            OPS_PORT: String(port + PORTS.coordinatorOps + i),
            RPC_PORT: String(rpcPort),
            ADVERTISE_ADDRESS: `${HOST}:${rpcPort}`,
            ...models,
            API_KEY: this.#apiKey,
            DEFAULT_REPLICAS: String(replicas),
            DEFAULT_SHARDS: String(shards),
          }),
          port: port + i,
          opsPort: port + PORTS.coordinatorOps + i,
        };
      }),
    ];
  }

  /** @param {Member} member */
  #spawn(member) {
    if (this.#isStopping) return;
    const file = this.#openLog(member);
    // A process group of its own: a Ctrl-C in the terminal must reach only this process, which stops the others in
    // order.
    const child = spawn(member.command, member.words, {
      env: { ...process.env, ...member.environment },
      stdio: ['ignore', file, file],
      detached: true,
    });
    if (typeof file === 'number') closeSync(file);
    member.child = child;
    member.ended = new Promise((/** @type {(value?: undefined) => void} */ done) => {
      child.once('error', (error) => {
        this.#log(`${member.id} cannot be started: ${error.message}`);
        done();
      });
      child.once('exit', (code, signal) => {
        done();
        if (member.child === child) member.child = null;
        if (this.#isStopping) return;
        this.#log(
          `${member.id} ended (${signal ?? `exit code ${code}`}); its log is ${join(this.#folder, 'logs', `${member.id}.log`)}`,
        );
        if (this.#options.restarts) setTimeout(() => this.#spawn(member), RESTART_AFTER_MS);
        this.#writeState();
      });
    });
    this.#writeState();
  }

  /**
   * A member runs without its log where that can't be had.
   * @param {Member} member
   * @returns {number | 'ignore'}
   */
  #openLog({ id }) {
    const path = join(this.#folder, 'logs', `${id}.log`);
    try {
      return openSync(path, 'a');
    } catch (error) {
      this.#log(`${id} runs without a log: ${error.message}`);
      return 'ignore';
    }
  }

  /** @param {Member} member */
  async #end(member) {
    const { child } = member;
    if (!child) return;
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
    await member.ended;
    clearTimeout(timer);
  }

  /**
   * Why the configured model is not used; null: it is.
   * @param {Member} member
   */
  async #modelReason({ port }) {
    const answer = await fetch(`http://${HOST}:${port}/v1/health`, { headers: { 'x-api-key': this.#apiKey } });
    const { data } = /** @type {{ data: { embedding: { fallback_reason: string | null } } | null }} */ (
      await answer.json()
    );
    return data?.embedding.fallback_reason ?? null;
  }

  /** @param {Member} member */
  async #showsAllNodes({ port }) {
    const answer = await fetch(`http://${HOST}:${port}/v1/cluster`, { headers: { 'x-api-key': this.#apiKey } });
    const { data } = /** @type {{ data: { nodes: { state: string }[] } | null }} */ (await answer.json());
    return data?.nodes.filter((node) => node.state === 'up').length === this.#options.nodes;
  }

  /**
   * @param {() => Promise<boolean>} holds
   * @param {string} what
   */
  async #until(holds, what) {
    for (const deadline = Date.now() + READY_WITHIN_MS; !this.#isStopping;) {
      if (await holds().catch(() => false)) return;
      if (Date.now() > deadline)
        throw new Error(
          `${what} is not ready after ${READY_WITHIN_MS / 1000} s; the logs are in ${join(this.#folder, 'logs')}`,
        );
      await new Promise((wake) => setTimeout(wake, 100));
    }
  }

  /** Writes cluster.json: what other programs need to know about the processes. */
  #writeState() {
    const processes = this.#members.map(({ role, id, port, child }) => ({
      role,
      id,
      address: `${HOST}:${port}`,
      pid: child?.pid ?? null,
    }));
    const file = join(this.#folder, 'cluster.json');
    try {
      writeFileSync(`${file}.next`, `${JSON.stringify({ processes }, null, 2)}\n`);
      renameSync(`${file}.next`, file);
    } catch (error) {
      // A full disk is no reason to leave the processes alone.
      this.#log(`${file} is out of date: ${error.message}`);
    }
  }

  /**
   * A secret that stays the same as long as the folder exists.
   * @param {string} name
   * @param {() => string} make
   */
  #kept(name, make) {
    const file = join(this.#folder, name);
    if (!existsSync(file)) writeFileSync(file, `${make()}\n`, { mode: 0o600 });
    return readFileSync(file, 'utf8').trim();
  }
}

/** What people should know of the settings, by what the set-up compiled. */
function settingNotices() {
  const compiled = createRequire(join(ROOT, 'dist', 'shared', 'base', 'config', 'unknown-settings.js'));
  const { describeUnknown, unknownSettings } = compiled('./unknown-settings.js');
  const { SETTINGS } = compiled('./settings.js');
  const limit = Number(process.env.RATE_LIMIT_PER_MINUTE || SETTINGS.rateLimitPerMinute.fallback);
  return [
    ...(limit > 0 ? [`Each key may make ${limit} requests a minute (RATE_LIMIT_PER_MINUTE; 0: any number).`] : []),
    ...unknownSettings(process.env).map(describeUnknown),
  ];
}
