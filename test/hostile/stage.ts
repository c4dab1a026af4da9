import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_KEY, ClusterProcesses } from '../support/processes/cluster-processes';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { seededRandom } from '../support/values/random';
import { SecuredClient } from '../support/http/secured-client';
import { ApiCertificate } from '../support/processes/secured-process';
import { TurnNotes } from './turn-notes';
import {
  BOOKS,
  DIM,
  type Door,
  GIANT_ITEMS,
  GIANT_METADATA_BYTES,
  GIANT_TEXT_BYTES,
  GIANT_TEXTS,
  GIANTS,
  LIBRARY,
  randomVector,
  SCRATCH,
  words,
} from './attack';

/** What is attacked: one process, or a cluster's; with its collections and a key of each role. */
export interface Stage {
  apiPort: number;
  /** Of the authority of the API port's certificate, PEM; null without TLS. */
  ca: string | null;
  /** All ports of each kind. */
  doors: Record<Door, number[]>;
  adminKey: string;
  /** `honest` is that of the clients that are to be served. */
  keys: { honest: string; readonly: string; readwrite: string };
  /** Every process by name: its operations port and process id. */
  members: { name: string; opsPort: number; pid: number }[];
  /**
   * The longest stretch of work of a process since a time, by the processor time of the thread; null: none was noted.
   */
  longestTurn(pid: number, sinceMs: number): { ms: number; thread: string } | null;
  /** What the processes have logged of failures. */
  complaints(): string[];
  /** Highest epochs of all shards, by collection and shard; empty for one process. */
  epochs(): Promise<Record<string, number>>;
  close(): Promise<void>;
}

type Call = (method: string, path: string, body?: unknown) => Promise<any>;

const BATCH = 1_000;
/** Of items of the greatest size. */
const GIANT_BATCH = 25;
/** Of vectors that are made of texts. */
const TEXT_DIM = 384;
/** What answers may hold in each process; far more than normal clients need. */
export const ANSWER_BYTES_MAX = 256 * 1024 * 1024;
const ENVIRONMENT = { HTTP_THREADS: '2', MAX_ANSWER_MEMORY_BYTES: String(ANSWER_BYTES_MAX) };
const TAGS = 10;
/** Lines that no client may cause. */
const COMPLAINT = /"level":(?:50|60)|uncaught|unhandled|FATAL ERROR|"error":(?!null)/;

/** How a member tells of a stranger, once. */
const REFUSAL = /a handshake was refused/;

function isComplaint(line: string): boolean {
  return COMPLAINT.test(line) && !REFUSAL.test(line);
}

/** Fills `library` with items that every attack finds something in, makes `scratch`, and the two keys. */
async function furnish(call: Call, collection: object): Promise<Stage['keys']> {
  const random = seededRandom(1);
  await call('POST', '/v1/collections', { name: LIBRARY, dim: DIM, language: 'en', ...collection });
  await call('POST', '/v1/collections', { name: SCRATCH, dim: DIM, language: 'ar', ...collection });
  for (let from = 0; from < BOOKS; from += BATCH) {
    const items = Array.from({ length: BATCH }, (_, i) => ({
      external_id: `book-${from + i}`,
      vector: randomVector(random),
      text: words(random, 30),
      metadata: {
        year: from + i,
        code: random().toString(36).slice(2),
        tag: `tag-${(from + i) % TAGS}`,
        deep: { a: { b: i } },
      },
    }));
    await call('POST', `/v1/collections/${LIBRARY}/bulk_upsert`, { items });
  }
  await call('POST', '/v1/collections', { name: GIANTS, dim: DIM, ...collection });
  await call('POST', '/v1/collections', { name: GIANT_TEXTS, dim: TEXT_DIM, ...collection });
  for (let from = 0; from < GIANT_ITEMS; from += GIANT_BATCH) {
    const items = Array.from({ length: GIANT_BATCH }, (_, i) => ({
      external_id: `giant-${from + i}`,
      text: `giant ${String.fromCharCode(97 + (i % 26)).repeat(GIANT_TEXT_BYTES - 100)}`,
      metadata: { long: String.fromCharCode(97 + (i % 26)).repeat(GIANT_METADATA_BYTES - 100) },
    }));
    await call('POST', `/v1/collections/${GIANT_TEXTS}/bulk_upsert`, { items });
    await call('POST', `/v1/collections/${GIANTS}/bulk_upsert`, {
      items: items.map((item) => ({ ...item, vector: randomVector(random) })),
    });
  }
  const keyOf = async (name: string, role: string): Promise<string> =>
    (await call('POST', '/v1/admin/keys', { name, role })).key;
  return {
    honest: await keyOf('honest', 'readonly'),
    readonly: await keyOf('readonly', 'readonly'),
    readwrite: await keyOf('readwrite', 'readwrite'),
  };
}

/** Embedded processes that all begin with the same data. */
export class EmbeddedStages {
  private readonly folder = mkdtempSync(join(tmpdir(), 'quiver-hostile-'));
  private keys: Stage['keys'] = { honest: '', readonly: '', readwrite: '' };
  private opened = 0;
  private readonly environment: Record<string, string>;
  private readonly certificate = new ApiCertificate();
  private readonly turns = new TurnNotes();

  /** `options`: of Node.js, beside what the notes of turns need. */
  constructor({ options = '', ...environment }: Record<string, string>) {
    const { NODE_OPTIONS, ...others } = this.turns.environment;
    this.environment = { ...ENVIRONMENT, ...others, NODE_OPTIONS: `${NODE_OPTIONS} ${options}`.trim(), ...environment };
  }

  /** `isSecured`: its API speaks TLS. */
  async open(isSecured: boolean): Promise<Stage> {
    if (this.opened === 0) {
      const first = new EmbeddedProcess({ dataDir: join(this.folder, 'first'), environment: this.environment });
      try {
        await first.start();
        this.keys = await furnish((method, path, body) => first.data(method, path, body), {});
        await first.stop();
      } finally {
        await first.kill();
      }
    }
    const dataDir = join(this.folder, String(++this.opened));
    cpSync(join(this.folder, 'first'), dataDir, { recursive: true });
    const embedded = new EmbeddedProcess({
      dataDir,
      environment: { ...this.environment, ...(isSecured ? this.certificate.environment : {}) },
    });
    await embedded.start();
    return {
      apiPort: embedded.port,
      ca: isSecured ? this.certificate.ca : null,
      doors: { api: [embedded.port], ops: [embedded.opsPort], rpc: [] },
      adminKey: embedded.apiKey,
      keys: this.keys,
      members: [{ name: 'embedded', opsPort: embedded.opsPort, pid: embedded.pid }],
      longestTurn: (pid, sinceMs) => this.turns.longest(pid, sinceMs),
      complaints: () => embedded.output.split('\n').filter(isComplaint),
      epochs: async () => ({}),
      // Asked politely first, so that a profile can be written; one that stands still is killed.
      close: async () => {
        const timer = setTimeout(() => void embedded.kill(), STOP_PATIENCE_MS);
        await embedded.stop().catch(() => undefined);
        clearTimeout(timer);
        await embedded.destroy();
      },
    };
  }

  close(): void {
    this.certificate.destroy();
    this.turns.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const STOP_PATIENCE_MS = 15_000;

const MEMBER_CERTIFICATES = join(__dirname, '..', 'support', 'certificates');
const MEMBER_TLS = {
  TLS_CA_FILE: join(MEMBER_CERTIFICATES, 'ca.pem'),
  TLS_CERT_FILE: join(MEMBER_CERTIFICATES, 'server.pem'),
  TLS_KEY_FILE: join(MEMBER_CERTIFICATES, 'server.key.pem'),
};

/** Clusters of one coordinator and two nodes, each with every shard. */
export class ClusterStages {
  private readonly certificate = new ApiCertificate();
  private readonly environment: Record<string, string>;
  private readonly turns = new TurnNotes();

  /** `byTls`: whether members speak TLS with each other. */
  constructor({ byTls }: { byTls: boolean }) {
    this.environment = { ...ENVIRONMENT, ...this.turns.environment, ...(byTls ? MEMBER_TLS : {}) };
  }

  async open(isSecured: boolean): Promise<Stage> {
    const cluster = await ClusterProcesses.start({
      nodes: 2,
      coordinators: 1,
      replicas: 2,
      shards: 2,
      threads: 2,
      environment: this.environment,
    });
    const [coordinator] = cluster.coordinators;
    let client: SecuredClient | null = null;
    try {
      const keys = await furnish((method, path, body) => cluster.data(method, path, body), {});
      await cluster.settled();
      if (isSecured) {
        await coordinator.stop();
        await coordinator.start(this.certificate.environment);
        client = new SecuredClient({ port: coordinator.port, ca: this.certificate.ca, key: API_KEY });
      }
      const members = [coordinator, ...cluster.nodes];
      return {
        apiPort: coordinator.port,
        ca: isSecured ? this.certificate.ca : null,
        doors: {
          api: [coordinator.port],
          ops: members.map(({ opsPort }) => opsPort),
          rpc: members.map(({ rpcPort }) => rpcPort),
        },
        adminKey: API_KEY,
        keys,
        members: members.map((member) => ({ name: member.id, opsPort: member.opsPort, pid: member.pid })),
        longestTurn: (pid, sinceMs) => this.turns.longest(pid, sinceMs),
        complaints: () =>
          members.flatMap((member) =>
            member.output
              .split('\n')
              .filter(isComplaint)
              .map((line) => `${member.id}: ${line}`),
          ),
        epochs: async () => {
          const data =
            client === null
              ? await cluster.data('GET', '/v1/cluster')
              : (await client.call('GET', '/v1/cluster')).json.data;
          return Object.fromEntries(
            data.shards.map((one: { collection: string; shard: number; epoch: number }) => [
              `${one.collection}/${one.shard}`,
              one.epoch,
            ]),
          );
        },
        close: async () => {
          client?.close();
          await cluster.destroy();
        },
      };
    } catch (error) {
      client?.close();
      await cluster.destroy();
      throw error;
    }
  }

  close(): void {
    this.turns.close();
    // Each cluster removes its own data.
    this.certificate.destroy();
  }
}
