import type { Client, Metadata } from '@grpc/grpc-js';
import { RemoteShardClient } from '../../../coordinator/cluster/calls/remote-shard-client';
import type { AnswerBytes } from '../../../node/hosting/services/answer-bytes';
import type { NodeShards } from '../../../node/replication/node-shards';
import { nodeLimits, shardServices } from '../../../node/hosting/services/shard-service';
import { silentLogger } from '../../../shared/base/logs/logger';
import { MemberHandshake } from '../../../shared/wire/handshake/member-handshake';
import { MemberSession } from '../../../shared/wire/handshake/member-session';
import type { ClusterCredentials } from '../../../shared/wire/streams/rpc-channel';
import { type RpcService, RpcServer } from '../../../shared/wire/streams/rpc-server';
import { MemberProof } from '../../../shared/base/secret/member-proof';
import { systemClock } from '../../../shared/base/time/clock';
import { freePorts } from '../servers/free-ports';
import { SettableRoutes } from './settable-routes';

export const SECRET = 'a secret of the cluster';
export const PLAIN: ClusterCredentials = { secret: SECRET, tls: null };
export const SHARD = { collectionUid: 'uid', shard: 0 };
/** Below what a test may take, so that a call that is not answered is what fails. */
const CALL_MS = 240_000;
/** Beyond what any test may take: what ends such a call is not its deadline. */
export const BEYOND_MS = 3_600_000;

/** Frames by direction, counted at the node. */
export interface FrameCounts {
  received: number;
  sent: number;
}

/** A node that serves `shards` over gRPC in this process. */
export class RpcNode {
  readonly frames: FrameCounts = { received: 0, sent: 0 };
  private server!: RpcServer;
  port = 0;
  /** host:port by which clients know it, where that is a proxy's; null: its own. */
  knownAs: string | null = null;

  private constructor(
    private readonly parts: {
      shards: NodeShards;
      credentials: ClusterCredentials;
      stallMs?: number;
      runningReadsMax?: number;
      answers?: AnswerBytes;
    },
  ) {}

  static async start(
    shards: NodeShards,
    options: {
      credentials?: ClusterCredentials;
      port?: number;
      stallMs?: number;
      runningReadsMax?: number;
      answers?: AnswerBytes;
    } = {},
  ): Promise<RpcNode> {
    const node = new RpcNode({
      shards,
      answers: options.answers,
      credentials: options.credentials ?? PLAIN,
      stallMs: options.stallMs,
      runningReadsMax: options.runningReadsMax,
    });
    // One that nobody takes while it does not listen.
    await node.listen(options.port ?? (await freePorts(1))[0]);
    return node;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  async listen(port = this.port): Promise<void> {
    const { shards, credentials, stallMs, runningReadsMax, answers } = this.parts;
    const services = shardServices({
      shards,
      clock: systemClock,
      logger: silentLogger,
      stallMs,
      limits: nodeLimits({ runningReadsMax, answers }),
    });
    this.server = new RpcServer({
      services: services.map((service) => this.counting(service)),
      ...credentials,
      addressOf: (port) => this.knownAs ?? `127.0.0.1:${port}`,
    });
    this.port = await this.server.listen(`127.0.0.1:${port}`);
  }

  /** As RpcServer.close. */
  close(graceMs = 0): Promise<void> {
    return this.server.close(graceMs);
  }

  private counting(service: RpcService): RpcService {
    const exchange = service.handlers.Exchange as (
      call: import('@grpc/grpc-js').ServerDuplexStream<unknown, unknown>,
    ) => void;
    const Exchange: typeof exchange = (call) => {
      call.on('data', () => (this.frames.received += 1));
      const write = call.write.bind(call) as (...given: unknown[]) => boolean;
      call.write = (...given: unknown[]) => {
        this.frames.sent += 1;
        return write(...given);
      };
      exchange(call);
    };
    return { definition: service.definition, handlers: { Exchange }, drain: () => service.drain() };
  }
}

let sessions = 0;

/** A client whose shards are all at one address. */
export function clientTo(address: string, options: { credentials?: ClusterCredentials; readRetryMs?: number } = {}) {
  const routes = new SettableRoutes({ node: 'node', address, epoch: 1 });
  const ended: string[] = [];
  const client = new RemoteShardClient({
    routes,
    placement: { open: async () => undefined, drop: async () => undefined },
    session: `session-${++sessions}`,
    credentials: options.credentials ?? PLAIN,
    clock: systemClock,
    readRetryMs: options.readRetryMs,
    linkEnded: (where, end) => void ended.push(`${where}: ${end.reason}`),
  });
  return { client, routes, ended };
}

/** Of a call that is to fail by its deadline. */
export function within(milliseconds: number): { deadlineMs: number } {
  return { deadlineMs: performance.now() + milliseconds };
}

/** Of a call that is to be answered, or to fail by something else: however long that takes. */
export const inTime = (): { deadlineMs: number } => within(CALL_MS);

/** What opens one stream of a method for a raw client that dials `address`, after a handshake. */
export async function provenMetadata(client: Client, address: string, path: string): Promise<Metadata> {
  const session = new MemberSession({
    connect: () => client,
    handshake: new MemberHandshake({ address, name: 'raw', proof: new MemberProof(PLAIN), log: silentLogger }),
  });
  const made = await session.make();
  if (!('key' in made)) throw new Error(made.reason);
  return session.metadataFor(made, path);
}
